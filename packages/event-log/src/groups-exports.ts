/** Competing consumers over a source of events that the caller brings: what persistent subscriptions of the protocol stand on. */
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
