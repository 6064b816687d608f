/** The types and errors of an event log. Their semantics follow EventStoreDB. */

import { reservesMember } from './file/reserved-keys.js'

export { damagedType } from './file/event-body.js'
export { reservationIn } from './file/reserved-keys.js'

/** The revision of a stream: the number of its last event, counted from 0, or `no_stream` if it has none. */
export type StreamRevision = number | 'no_stream'

/**
 * The state of the stream that an append requires: its revision, any event (`stream_exists`), or nothing (`any`). At a revision, a
 * repeated append is recognized by the place of its events, at any time. With `stream_exists` and `any`, it is recognized if its first
 * id is one of the stream's recent events; then all of its other ids must be too.
 */
export type ExpectedRevision = StreamRevision | 'stream_exists' | 'any'

/** A position in the global order. Both halves are significant: use {@link comparePositions}. */
export interface Position {
  readonly commit: bigint
  readonly prepare: bigint
}

export type JsonObject = { readonly [key: string]: unknown }

/**
 * The type and data of the events of a log. Pass a union of these to `openEventLog` to append and read typed events. The log does not check
 * them: an event of a different program, or a damaged one, has a type that the union lacks.
 */
export interface EventType {
  readonly type: string
  readonly data: object
}

export interface AnyEvent extends EventType {
  readonly data: JsonObject
}

/** An event with all parts, as the log stores it. */
export type NewEvent<Event extends EventType = AnyEvent> = Event extends EventType
  ? {
      /** The event's id, a UUID in lower case. Repeating an append with the same ids returns the first result again. */
      readonly id: string
      readonly type: Event['type']
      readonly data: Event['data']
      readonly metadata: JsonObject
    }
  : never

/**
 * An event to append. An omitted id is a random UUID, with which a repeated append cannot be recognized. Omitted metadata is `{}`. Data
 * and metadata are plain objects, which are stored as `JSON.stringify` writes them.
 */
export type EventToAppend<Event extends EventType = AnyEvent> = Event extends EventType
  ? Pick<NewEvent<Event>, 'type' | 'data'> & Partial<Pick<NewEvent<Event>, 'id' | 'metadata'>>
  : never

/** An event whose data and metadata are the JSON texts of objects already. The log stores both unchanged. */
export interface SerializedEvent {
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}

/** An event in its stored form. */
export interface UnparsedEvent {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  /** The milliseconds since the epoch on the store's clock. */
  readonly recordedAtMs: number
  /** The stored JSON text of `[id, type, data, metadata]`, or `undefined` if the event is stored in a different form. */
  readonly text?: string | undefined
  /** The parts of an event without a text. They are the same from every engine, and contain every stored byte. */
  readonly bytes?: readonly Uint8Array[]
}

/** An event that was read. */
export type RecordedEvent<Event extends EventType = AnyEvent> = Event extends EventType
  ? NewEvent<Event> & UnparsedEvent
  : never

export interface Append<Event extends EventType = AnyEvent> {
  readonly stream: string
  readonly expectedRevision: ExpectedRevision
  readonly events: readonly (EventToAppend<Event> | SerializedEvent)[]
  /**
   * Keys of which each belongs to the first owner that reserves it, forever. Only an append that creates its stream can reserve keys. Its
   * first event names them in its metadata, as {@link withReservedKeys} does. If strangers choose your keys, reserve digests of them: keys
   * with the same hash of 48 bits are slow.
   */
  readonly reserves?: readonly string[] | undefined
  /** The owner of the keys, who can reserve them again. Defaults to the stream. */
  readonly reservedFor?: string | undefined
}

export interface AppendResult {
  /** The revision of the last event of this append, not of the stream: a repeated append returns the first result. */
  readonly revision: number
  readonly position: Position
}

export type Direction = 'forwards' | 'backwards'

export interface ReadStreamOptions {
  /** The read direction. Defaults to forwards. */
  readonly direction?: Direction
  /** The first revision to read, inclusive. Defaults to the first event, or to the last one when reading backwards. */
  readonly fromRevision?: number
  /** The maximum number of events, at least 1. Defaults to all events. */
  readonly maxCount?: number
}

export interface ReadAllOptions {
  /** The position to start after, exclusive. Defaults to the start of the log. */
  readonly after?: Position
  /** The case-sensitive prefixes of stream names, any of which may match. Defaults to all streams but system streams (`$…`). */
  readonly streamPrefixes?: readonly string[]
  /** The maximum number of events in the page, at least 1. */
  readonly maxCount: number
}

/** The place of an event, by which an engine finds it as fast as it can. */
export type EventPlace = Pick<RecordedEvent, 'stream' | 'revision' | 'position'>

/** A part of a stream, from its first revision on, inclusive. */
export interface StreamRange extends Required<Omit<ReadStreamOptions, 'direction'>> {
  readonly stream: string
}

/** A page of events in the global order. */
export interface Page<Event = RecordedEvent> {
  readonly events: readonly Event[]
  /** The position up to which the log was scanned, inclusive, matching or not. Absent on an empty log. */
  readonly checkpoint?: Position
  /** Whether the log ended with this page when it was read. */
  readonly atEnd: boolean
}

export interface SubscribeToAllOptions {
  readonly after?: Position | 'end'
  readonly streamPrefixes?: readonly string[]
  /** The maximum number of events in a page. Defaults to 500. */
  readonly pageSize?: number
  readonly signal: AbortSignal
}

export interface SubscribeToStreamOptions {
  /** The first revision to yield, inclusive. Defaults to 0. */
  readonly fromRevision?: number
  readonly signal: AbortSignal
}

export interface PersistentSubscriptionSettings {
  /** The position at which a group without a checkpoint starts. */
  readonly startFrom: 'start' | 'end' | Position
  /** The prefixes of the stream names that the group reads. They cannot change after creation. */
  readonly streamPrefixes: readonly string[]
  /** The time to acknowledge an event. It is checked once a second, and the event is redelivered at the next check. */
  readonly messageTimeoutMs: number
  /** The number of redeliveries, after timeouts or retries, before the event is parked. */
  readonly maxRetryCount: number
  readonly checkpointAfterMs: number
  readonly minCheckpointCount: number
  readonly maxCheckpointCount: number
  /** The maximum number of consumers; 0 means no limit. */
  readonly maxSubscriberCount: number
  readonly liveBufferSize: number
  /** Must be smaller than historyBufferSize. */
  readonly readBatchSize: number
  readonly historyBufferSize: number
  readonly consumerStrategy: (typeof consumerStrategies)[number]
}

/** EventStoreDB's defaults, except that the group starts at the start of the log. */
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

export const consumerStrategies = ['RoundRobin', 'DispatchToSingle', 'Pinned'] as const
/** The maximum number of stream prefixes of a read, a subscription or a group. */
export const maxStreamPrefixes = 100
/** EventStoreDB stores the numbers of a group as signed 32-bit integers. */
const maxSettingsNumber = 2 ** 31 - 1

/**
 * Returns the settings without members that are `undefined`, which count as omitted.
 * @throws InvalidSettingsError that names the first setting that is unknown or has a value of the wrong kind
 */
export function checkedSettings(
  settings: Partial<PersistentSubscriptionSettings>,
): Partial<PersistentSubscriptionSettings> {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined)
  for (const [name, value] of given) {
    if (!Object.hasOwn(defaultPersistentSubscriptionSettings, name)) {
      const names = Object.keys(defaultPersistentSubscriptionSettings).join(', ')
      throw new InvalidSettingsError(`unknown setting ${name}: the settings are ${names}`)
    }
    const required = requiredValue(name as keyof PersistentSubscriptionSettings, value)
    if (required !== undefined) throw new InvalidSettingsError(`the setting ${name} must be ${required}`)
  }
  return Object.fromEntries(given)
}

/** Returns what the value must be, or `undefined` if it is that. */
function requiredValue(name: keyof PersistentSubscriptionSettings, value: unknown): string | undefined {
  switch (name) {
    case 'startFrom':
      return value === 'start' || value === 'end' || isPosition(value)
        ? undefined
        : "'start', 'end' or a position whose prepare half is not greater than its commit half"
    case 'streamPrefixes': {
      const isList = Array.isArray(value) && value.every((prefix) => typeof prefix === 'string')
      return isList && value.length <= maxStreamPrefixes ? undefined : `a list of at most ${maxStreamPrefixes} texts`
    }
    case 'consumerStrategy':
      return consumerStrategies.some((strategy) => strategy === value)
        ? undefined
        : `one of ${consumerStrategies.join(', ')}`
    default:
      return Number.isInteger(value) && Math.abs(value as number) <= maxSettingsNumber
        ? undefined
        : 'a whole number of at most 32 bits'
  }
}

function isPosition(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('commit' in value) || !('prepare' in value)) return false
  const { commit, prepare } = value
  return typeof commit === 'bigint' && typeof prepare === 'bigint' && prepare >= 0n && prepare <= commit
}

export interface PersistentDelivery<Event extends EventType = AnyEvent> {
  readonly event: RecordedEvent<Event>
  /** The number of earlier deliveries. */
  readonly retryCount: number
  /** The id to acknowledge: the event's id, or the id of the parked entry if the event is replayed. */
  readonly ackId: string
}

export type NackAction = 'retry' | 'park' | 'skip'

/** A consumer of a group. Iterate it once. It ends when its signal aborts, or when it is closed or disposed. */
export interface PersistentConsumer<Event extends EventType = AnyEvent>
  extends AsyncIterable<PersistentDelivery<Event>> {
  /** Acknowledges events. Ignores ids that are not in flight. */
  ack(...ackIds: string[]): Promise<void>
  nack(action: NackAction, reason: string, ...ackIds: string[]): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface ParkedEvent {
  /** The revision in the parked stream, at which `replayParked` can stop. */
  readonly parkedRevision: number
  readonly stream: string
  readonly revision: number
  readonly reason: string
  readonly parkedAtMs: number
}

export interface PersistentSubscriptionInfo {
  readonly group: string
  /** The group's settings. EventStoreDB does not return stream prefixes, so they are empty unless this store created the group. */
  readonly settings: PersistentSubscriptionSettings
  readonly checkpoint?: Position
  readonly inFlight: number
  readonly parkedCount: number
  readonly consumers: number
}

export interface PersistentSubscriptions<Event extends EventType = AnyEvent> {
  /**
   * Creates a group. An omitted setting has the value of {@link defaultPersistentSubscriptionSettings}.
   * @throws PersistentSubscriptionExistsError, InvalidSettingsError
   */
  create(group: string, settings?: Partial<PersistentSubscriptionSettings>): Promise<void>
  /**
   * Changes settings, drops the consumers and reloads the group from its checkpoint. An omitted setting is unchanged, and so are the
   * stream prefixes in any case.
   * @throws PersistentSubscriptionMissingError, InvalidSettingsError
   */
  update(group: string, settings: Partial<PersistentSubscriptionSettings>): Promise<void>
  /** Deletes the group with its checkpoint and parked events. @throws PersistentSubscriptionMissingError */
  delete(group: string): Promise<void>
  /** @throws PersistentSubscriptionMissingError */
  info(group: string): Promise<PersistentSubscriptionInfo>
  /** @throws PersistentSubscriptionMissingError, MaximumSubscribersReachedError, GroupHeldElsewhereError */
  consume(
    group: string,
    options: { readonly bufferSize: number; readonly signal: AbortSignal },
  ): Promise<PersistentConsumer<Event>>
  /** Returns the parked events, oldest first. @throws PersistentSubscriptionMissingError */
  listParked(group: string, options: { readonly maxCount: number }): Promise<readonly ParkedEvent[]>
  /** Redelivers all parked events, or those before the parked revision `stopAt`. @throws PersistentSubscriptionMissingError */
  replayParked(group: string, options?: { readonly stopAt?: number }): Promise<void>
}

export interface EventLog<Event extends EventType = AnyEvent> {
  /**
   * Appends events atomically. Returns the first result again if the same ids already follow the expected revision.
   * @throws WrongExpectedRevisionError, StreamDeletedError, AppendTooLargeError, TypeError (an event cannot be stored),
   * StoreUnavailableError (outcome unknown: read the stream, or repeat)
   */
  append(stream: string, expectedRevision: ExpectedRevision, events: Append<Event>['events']): Promise<AppendResult>
  /**
   * Executes appends sequentially and stops at the first rejected one, whose error it throws; the earlier ones remain. The appends
   * take one round trip if the engine allows it, and are not atomic across streams. An append without events only checks the
   * expected revision. Only these appends can reserve keys. With `pipelined`, an engine that needs a round trip per append does not wait between them, so appends after
   * a rejected one may be stored too; the error follows when all have ended. Use it only if you read the stored events afterwards.
   */
  appendInOrder(
    appends: readonly Append<Event>[],
    options?: { readonly pipelined?: boolean },
  ): Promise<readonly AppendResult[]>
  /** Returns the events of a stream, or none if the stream does not exist. */
  readStream(stream: string, options?: ReadStreamOptions): Promise<readonly RecordedEvent<Event>[]>
  /** Returns the events at these places in their order, without those of places at which there is no event of the stream and revision. */
  readEvents(places: readonly EventPlace[]): Promise<readonly RecordedEvent<Event>[]>
  readAll(options: ReadAllOptions): Promise<Page<RecordedEvent<Event>>>
  /**
   * Reads the log like {@link readAll}, but parses nothing where the engine allows that, so it also returns unreadable events. The default
   * of `maxCount` depends on the cost of a page.
   */
  readUnparsed(options: Partial<Pick<ReadAllOptions, 'after' | 'maxCount'>>): Promise<Page<UnparsedEvent>>
  /** Returns where the events of each range are, without reading their content. Missing on a server, which has the index of its streams. */
  readonly readPlaces?: (ranges: readonly StreamRange[]) => Promise<readonly (readonly EventPlace[])[]>
  /**
   * Yields pages until the signal aborts and reads each page on demand. On an idle log it waits, except that it always yields one
   * page, possibly empty, when it first reaches the end.
   */
  subscribeToAll(options: SubscribeToAllOptions): AsyncIterable<Page<RecordedEvent<Event>>>
  readonly persistentSubscriptions: PersistentSubscriptions<Event>
  /** Waits for the operations in progress, then closes the log. */
  close(): Promise<void>
}

export class WrongExpectedRevisionError extends Error {
  override readonly name = 'WrongExpectedRevisionError'
  constructor(
    readonly stream: string,
    readonly expected: ExpectedRevision,
    readonly actual: StreamRevision,
  ) {
    super(`${stream}: expected revision ${expected}, but it is ${actual}`)
  }
}

/** A key that the append reserves belongs to a different owner. Nothing of the append was stored. */
export class KeyReservedError extends Error {
  override readonly name = 'KeyReservedError'
  constructor(readonly stream: string) {
    super(`${stream}: a key is reserved already`)
  }
}

/** The stream was deleted permanently (tombstoned), or it is soft-deleted although the append requires that it exists. */
export class StreamDeletedError extends Error {
  override readonly name = 'StreamDeletedError'
  constructor(readonly stream: string) {
    super(`${stream} was deleted`)
  }
}

/** The log is currently unavailable, for example because the disk is full. An operation in progress may or may not have succeeded. */
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

/** A setting of a group is unknown or invalid. The message names it. */
export class InvalidSettingsError extends Error {
  override readonly name = 'InvalidSettingsError'
}

export class MaximumSubscribersReachedError extends Error {
  override readonly name = 'MaximumSubscribersReachedError'
}

/** The group dropped the consumer because it was updated, deleted or lost. Consume again with back-off. */
export class ConsumerDroppedError extends Error {
  override readonly name = 'ConsumerDroppedError'
}

/** Another process consumes this group. Only the embedded engine throws this error. */
export class GroupHeldElsewhereError extends Error {
  override readonly name = 'GroupHeldElsewhereError'
}

export const maxAppendBytes = 1_048_576
/** The maximum number of keys that an append reserves. */
const maxReserved = 16

/**
 * Returns the append with its keys in the metadata of its first event, as `$reserves` and `$reservedFor`. Text of metadata must contain them.
 * @throws TypeError if the append cannot reserve keys, or if its first event names keys that it does not reserve
 */
export function withReservedKeys<Reserving extends Append>(append: Reserving): Reserving {
  const { stream, expectedRevision, events, reserves = [], reservedFor } = append
  const [first, ...others] = events
  const metadata = first?.metadata
  const areNamed = typeof metadata === 'string' ? metadata.includes(reservesMember) : metadata?.$reserves !== undefined
  if (reserves.length === 0) {
    if (areNamed) throw new TypeError(`${stream}: the first event names keys that the append does not reserve`)
    return append
  }
  if (expectedRevision !== 'no_stream' || !first)
    throw new TypeError(`${stream}: only an append that creates its stream can reserve keys`)
  if (reserves.length > maxReserved || !reserves.every(isWellFormed) || !isWellFormed(reservedFor ?? stream))
    throw new TypeError(`${stream}: an append reserves at most ${maxReserved} keys of well-formed text`)
  if (typeof metadata === 'string') {
    if (!areNamed) throw new TypeError(`${stream}: the first event does not name the keys that the append reserves`)
    return append
  }
  const named = { ...metadata, $reserves: reserves, ...(reservedFor !== undefined && { $reservedFor: reservedFor }) }
  return { ...append, events: [{ ...first, metadata: named }, ...others] }
}

function isWellFormed(text: unknown): boolean {
  return typeof text === 'string' && text !== '' && !(surrogate.test(text) && loneSurrogate.test(text))
}
const surrogate = /[\ud800-\udfff]/
const loneSurrogate = /\p{Surrogate}/u

/** Returns the stored text of an event with these JSON texts. */
export function eventText(id: string, type: string, data: string, metadata: string): string {
  return `["${id}",${JSON.stringify(type)},${data},${metadata}]`
}

/**
 * Returns data or metadata of an event to append as JSON text. Of a text, it checks only the first and the last character.
 * @throws TypeError that names the event's type, if the value is not a plain object or text of one, or cannot be written as JSON
 */
export function jsonText(value: object | string, part: 'data' | 'metadata', type: string): string {
  const text = typeof value === 'string' ? value : isPlainObject(value) ? stringify(value, part, type) : undefined
  if (text?.charCodeAt(0) !== openingBrace || text.charCodeAt(text.length - 1) !== closingBrace)
    throw new TypeError(`the ${part} of the event ${type} must be a plain object`)
  return text
}

const openingBrace = 123
const closingBrace = 125

/** Returns `false` for arrays, and for instances of classes, of which JSON loses at least the class. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  // The prototype of an object of another realm (`node:vm`) has no prototype either.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Returns `undefined` if the object's `toJSON` returns no JSON. @throws TypeError */
function stringify(value: object, part: string, type: string): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new TypeError(`the ${part} of the event ${type} cannot be written as JSON: ${reason}`, { cause: error })
  }
}

export function comparePositions(a: Position, b: Position): number {
  if (a.commit !== b.commit) return a.commit < b.commit ? -1 : 1
  if (a.prepare !== b.prepare) return a.prepare < b.prepare ? -1 : 1
  return 0
}

/** Returns `C/P`, or `C` if both halves are equal. */
export function formatPosition(position: Position): string {
  return position.commit === position.prepare ? `${position.commit}` : `${position.commit}/${position.prepare}`
}

/** Parses the output of {@link formatPosition}. Returns `undefined` for any other text. */
export function parsePosition(text: string): Position | undefined {
  const match = /^(\d{1,19})(?:\/(\d{1,19}))?$/.exec(text)
  if (!match?.[1]) return undefined
  const commit = BigInt(match[1])
  return { commit, prepare: match[2] === undefined ? commit : BigInt(match[2]) }
}
