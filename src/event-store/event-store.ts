import type {
  EventLog,
  RecordedEvent as LogEvent,
  Page as LogPage,
  ReadAllOptions,
  ReadStreamOptions,
  SubscribeToAllOptions,
} from '@transferd/event-log'

/**
 * The event-store port: the smallest set of operations that the service needs and every engine offers. If engines could differ, the
 * semantics are EventStoreDB's. docs/reference/event-store.md lists them.
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
  /** An operator decided to skip the event. skipped-events.ts marks it; no engine does. */
  readonly isSkipped?: true
  /** The revision of the previous event that is not skipped, if skipped events precede this one; -1 if all of them are skipped. */
  readonly previousRevision?: number
}

/** A page of the log in its global order. */
export interface Page extends LogPage {
  readonly events: readonly RecordedEvent[]
}

export interface EventStore extends EventLog {
  readStream(stream: string, options?: ReadStreamOptions): Promise<readonly RecordedEvent[]>
  readAll(options: ReadAllOptions): Promise<Page>
  subscribeToAll(options: SubscribeToAllOptions): AsyncIterable<Page>
}
