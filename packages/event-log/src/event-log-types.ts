/** What a log takes, answers and throws. Semantics are EventStoreDB's where the two could differ. */

/** The revision an append names: the number of the stream's last event (from 0), or that it has none. */
export type ExpectedRevision = number | 'no_stream'

/** A place in the global order. Compare with {@link comparePositions}; both halves belong to it. */
export interface Position {
  readonly commit: bigint
  readonly prepare: bigint
}

export type JsonObject = { readonly [key: string]: unknown }

export interface NewEvent {
  /** UUID, lower case. An append repeated with the same ids is answered as the first one was. */
  readonly id: string
  readonly type: string
  readonly data: JsonObject
  readonly metadata: JsonObject
}

export interface RecordedEvent extends NewEvent {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  /** Milliseconds since the epoch, by the clock of the store. */
  readonly recordedAtMs: number
  /** The event's bytes, where they are not just the JSON of what is shown here; only where it was asked for ({@link ReadAllOptions.includeStored}). */
  readonly stored?: readonly Uint8Array[]
}

export interface Append {
  readonly stream: string
  readonly expectedRevision: ExpectedRevision
  readonly events: readonly NewEvent[]
}

export interface AppendResult {
  /** Revision of the last event of this append, not of the stream: a repeated append answers as the first did. */
  readonly revision: number
  readonly position: Position
}

export type Direction = 'forwards' | 'backwards'

export interface ReadStreamOptions {
  /** Forwards when absent. */
  readonly direction?: Direction
  /** Inclusive; when absent, where the direction begins: the first event or the last one. */
  readonly fromRevision?: number
  /** At least 1; all when absent. */
  readonly maxCount?: number
}

export interface ReadAllOptions {
  /** Exclusive: only what was recorded after it. From the start when absent. */
  readonly after?: Position
  /** Only streams whose names start with one of these (or-ed, case-sensitive). All but system streams (`$…`) when absent. */
  readonly streamPrefixes?: readonly string[]
  /** Events in the page, at least 1. */
  readonly maxCount: number
  /** Nothing that is stored goes unseen: what cannot be read as an event is shown with `stored`, and is no error. */
  readonly includeStored?: true
}

/** A page of the global order. */
export interface Page {
  readonly events: readonly RecordedEvent[]
  /** Everything up to and including this place has been looked at, matching or not. Absent on an empty log. */
  readonly checkpoint?: Position
  /** True when nothing was behind this page as it was read. */
  readonly atEnd: boolean
}

export interface SubscribeToAllOptions {
  readonly after?: Position | 'end'
  readonly streamPrefixes?: readonly string[]
  /** Events in a page, at most; 500 when absent. */
  readonly pageSize?: number
  readonly signal: AbortSignal
}

export interface PersistentSubscriptionSettings {
  /** Where a group without a checkpoint begins. */
  readonly startFrom: 'start' | 'end' | Position
  /** Only streams whose names start with one of these; fixed when the group is created. */
  readonly streamPrefixes: readonly string[]
  /** Looked at on a tick of one second: a redelivery comes at the first tick after it. */
  readonly messageTimeoutMs: number
  /** Redeliveries after a timeout or a retry before the event is parked. */
  readonly maxRetryCount: number
  readonly checkpointAfterMs: number
  readonly minCheckpointCount: number
  readonly maxCheckpointCount: number
  /** 0: any number. */
  readonly maxSubscriberCount: number
  readonly liveBufferSize: number
  /** Must be smaller than historyBufferSize. */
  readonly readBatchSize: number
  readonly historyBufferSize: number
  readonly consumerStrategy: 'RoundRobin' | 'DispatchToSingle' | 'Pinned'
}

/** EventStoreDB's own defaults, but from the start of the log. */
export const defaultPersistentSubscriptionSettings: PersistentSubscriptionSettings = {
  startFrom: 'start',
  streamPrefixes: [],
  messageTimeoutMs: 30_000,
  maxRetryCount: 10,
  checkpointAfterMs: 2_000,
  minCheckpointCount: 10,
  maxCheckpointCount: 1_000,
  maxSubscriberCount: 0,
  liveBufferSize: 500,
  readBatchSize: 20,
  historyBufferSize: 500,
  consumerStrategy: 'RoundRobin',
}

export interface PersistentDelivery {
  readonly event: RecordedEvent
  /** 0 at the first delivery. */
  readonly retryCount: number
  /** What to acknowledge: the event's id, or the parked entry's when it was replayed. */
  readonly ackId: string
}

export type NackAction = 'retry' | 'park' | 'skip'

/** One consumer of a group. Iterate it once; it ends when its signal aborts or {@link close} is called. */
export interface PersistentConsumer extends AsyncIterable<PersistentDelivery> {
  /** Ids that are not in flight are ignored. */
  ack(...ackIds: string[]): Promise<void>
  nack(action: NackAction, reason: string, ...ackIds: string[]): Promise<void>
  close(): Promise<void>
}

export interface ParkedEvent {
  /** Number in the parked stream: what `replayParked` can stop at. */
  readonly parkedRevision: number
  readonly stream: string
  readonly revision: number
  readonly reason: string
  readonly parkedAtMs: number
}

export interface PersistentSubscriptionInfo {
  readonly group: string
  /** EventStoreDB does not tell the stream prefixes: there the list is empty, unless this store made the group. */
  readonly settings: PersistentSubscriptionSettings
  readonly checkpoint?: Position
  readonly inFlight: number
  readonly parkedCount: number
  readonly consumers: number
}

export interface PersistentSubscriptions {
  /** @throws PersistentSubscriptionExistsError, InvalidSettingsError */
  create(group: string, settings: PersistentSubscriptionSettings): Promise<void>
  /** Drops the consumers and loads the group anew from its checkpoint. Its stream prefixes stay. @throws PersistentSubscriptionMissingError, InvalidSettingsError */
  update(group: string, settings: PersistentSubscriptionSettings): Promise<void>
  /** Removes the checkpoint and the parked events too. @throws PersistentSubscriptionMissingError */
  delete(group: string): Promise<void>
  /** @throws PersistentSubscriptionMissingError */
  info(group: string): Promise<PersistentSubscriptionInfo>
  /** @throws PersistentSubscriptionMissingError, MaximumSubscribersReachedError, GroupHeldElsewhereError */
  consume(
    group: string,
    options: { readonly bufferSize: number; readonly signal: AbortSignal },
  ): Promise<PersistentConsumer>
  /** Oldest first. @throws PersistentSubscriptionMissingError */
  listParked(group: string, options: { readonly maxCount: number }): Promise<readonly ParkedEvent[]>
  /** Delivers parked events again, before `stopAt` (a parked revision, excluded) or all. @throws PersistentSubscriptionMissingError */
  replayParked(group: string, options?: { readonly stopAt?: number }): Promise<void>
}

export interface EventLog {
  /**
   * Appends atomically. Already done (the same ids follow the expected revision): answers as the first time.
   * @throws WrongExpectedRevisionError, AppendTooLargeError, StoreUnavailableError (nothing may be assumed: read, or append again)
   */
  append(stream: string, expectedRevision: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult>
  /**
   * Several appends one after the other, stopping at the first refusal (which is thrown); those before it stay.
   * One round trip where the engine can; not atomic across streams. An append of no events only asks whether the stream is as expected. `pipelined`:
   * where it cannot, none waits for the answer to the one before it, and what stands behind a refusal may be stored as well; for who reads back
   * what is stored. The refusal is thrown when all have ended.
   */
  appendInOrder(
    appends: readonly Append[],
    options?: { readonly pipelined?: boolean },
  ): Promise<readonly AppendResult[]>
  /** {@link appendInOrder} looks at all of its streams in one moment, and writes in the same: nobody else writes in between. */
  readonly appendsInOneTransaction?: true
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

export class WrongExpectedRevisionError extends Error {
  override readonly name = 'WrongExpectedRevisionError'
  constructor(
    readonly stream: string,
    readonly expected: ExpectedRevision,
    readonly actual: ExpectedRevision,
  ) {
    super(`${stream}: expected revision ${expected}, but it is ${actual}`)
  }
}

/** The log cannot be written or read just now (a full disk, a server unavailable). What was under way may or may not have happened. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
}

export class AppendTooLargeError extends Error {
  override readonly name = 'AppendTooLargeError'
}

export class PersistentSubscriptionExistsError extends Error {
  override readonly name = 'PersistentSubscriptionExistsError'
}

export class PersistentSubscriptionMissingError extends Error {
  override readonly name = 'PersistentSubscriptionMissingError'
}

export class InvalidSettingsError extends Error {
  override readonly name = 'InvalidSettingsError'
}

export class MaximumSubscribersReachedError extends Error {
  override readonly name = 'MaximumSubscribersReachedError'
}

/** The consumer was cut off: the group was updated, deleted or lost. Consume again, with back-off. */
export class ConsumerDroppedError extends Error {
  override readonly name = 'ConsumerDroppedError'
}

/** Another process consumes this group; only the embedded engine answers so. */
export class GroupHeldElsewhereError extends Error {
  override readonly name = 'GroupHeldElsewhereError'
}

export const maxAppendBytes = 1_048_576

export function comparePositions(a: Position, b: Position): number {
  if (a.commit !== b.commit) return a.commit < b.commit ? -1 : 1
  if (a.prepare !== b.prepare) return a.prepare < b.prepare ? -1 : 1
  return 0
}

/** `C/P`, or just `C` when both halves are equal. */
export function formatPosition(position: Position): string {
  return position.commit === position.prepare ? `${position.commit}` : `${position.commit}/${position.prepare}`
}

/** The inverse of {@link formatPosition}; undefined for anything else. */
export function parsePosition(text: string): Position | undefined {
  const match = /^(\d{1,19})(?:\/(\d{1,19}))?$/.exec(text)
  if (!match?.[1]) return undefined
  const commit = BigInt(match[1])
  return { commit, prepare: match[2] === undefined ? commit : BigInt(match[2]) }
}
