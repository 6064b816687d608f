/** Competing consumers on events from any source. The protocol server builds its persistent subscriptions on this entry. */
export type { ProcessLock } from './file/process-lock.js'
export { EmbeddedPersistentSubscriptions, type SubscribedLog } from './groups/embedded-persistent-subscriptions.js'
export type { Delivered } from './groups/group.js'
export {
  type EventFilter,
  type GroupDefinition,
  type GroupName,
  type GroupSettings,
  type StoredGroup,
  type StrategyName,
  strategies,
  wholeLog,
} from './groups/group-definition.js'
export { protocolLock } from './groups/group-rules.js'
export type { GroupSource, Item, SourcePage } from './groups/group-source.js'
export { type GroupInfo, Groups } from './groups/groups.js'
export type { GroupConsumer, Membership } from './groups/running-group.js'
export { configStream } from './groups/stored-groups.js'
