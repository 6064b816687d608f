import type {
  Append,
  AppendResult,
  ExpectedRevision,
  RecordedEvent as LogEvent,
  NewEvent,
  PersistentSubscriptions,
  Position,
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
export interface Page {
  readonly events: readonly RecordedEvent[]
  /** Everything up to and including this place has been looked at, matching or not. Absent on an empty log. */
  readonly checkpoint?: Position
  /** True when nothing was behind this page as it was read. */
  readonly atEnd: boolean
}

export interface EventStore {
  /**
   * Appends atomically. Already done (the same ids follow the expected revision): answers as the first time.
   * @throws WrongExpectedRevisionError, AppendTooLargeError, StoreUnavailableError (nothing may be assumed: read, or append again)
   */
  append(stream: string, expectedRevision: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult>
  /**
   * Several appends one after the other, stopping at the first refusal (which is thrown); those before it stay.
   * One round trip where the engine can; not atomic across streams.
   */
  appendInOrder(appends: readonly Append[]): Promise<readonly AppendResult[]>
  /** A stream that does not exist reads as empty. */
  readStream(stream: string, options?: ReadStreamOptions): Promise<readonly RecordedEvent[]>
  readAll(options: ReadAllOptions): Promise<Page>
  /**
   * Pages for ever, the next one read only when it is asked for; an idle log yields nothing but waits, except that
   * one page (perhaps empty) is always yielded once the end is first reached. Ends when the signal aborts.
   */
  subscribeToAll(options: SubscribeToAllOptions): AsyncIterable<Page>
  readonly persistentSubscriptions: PersistentSubscriptions
  /** Waits for what is under way. */
  close(): Promise<void>
}
