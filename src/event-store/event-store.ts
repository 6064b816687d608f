import type {
  EventLog,
  RecordedEvent as LogEvent,
  Page as LogPage,
  ReadAllOptions,
  ReadStreamOptions,
  SubscribeToAllOptions,
} from '@transferd/event-log'

/**
 * The event-store port: the smallest set of operations the service needs and every engine offers, in the words of the embedded log.
 * Semantics are EventStoreDB's where the two could differ; docs/reference/event-store.md lists them.
 */
export {
  type Append,
  type AppendResult,
  AppendTooLargeError,
  ConsumerDroppedError,
  comparePositions,
  type Direction,
  defaultPersistentSubscriptionSettings,
  type ExpectedRevision,
  formatPosition,
  GroupHeldElsewhereError,
  InvalidSettingsError,
  type JsonObject,
  MaximumSubscribersReachedError,
  maxAppendBytes,
  type NackAction,
  type NewEvent,
  type ParkedEvent,
  type PersistentConsumer,
  type PersistentDelivery,
  PersistentSubscriptionExistsError,
  type PersistentSubscriptionInfo,
  PersistentSubscriptionMissingError,
  type PersistentSubscriptionSettings,
  type PersistentSubscriptions,
  type Position,
  parsePosition,
  type ReadAllOptions,
  type ReadStreamOptions,
  StoreUnavailableError,
  type SubscribeToAllOptions,
  WrongExpectedRevisionError,
} from '@transferd/event-log'

export interface RecordedEvent extends LogEvent {
  /** A person decided that it counts as if it were not there; passing-over.ts marks it, no engine does. */
  readonly isPassedOver?: true
  /** Of the event before it that counts, where one that is passed over is in between; -1 when none counts. */
  readonly previousRevision?: number
}

/** A page of the global order. */
export interface Page extends LogPage {
  readonly events: readonly RecordedEvent[]
}

export interface EventStore extends EventLog {
  readStream(stream: string, options?: ReadStreamOptions): Promise<readonly RecordedEvent[]>
  readAll(options: ReadAllOptions): Promise<Page>
  subscribeToAll(options: SubscribeToAllOptions): AsyncIterable<Page>
}
