import { setImmediate } from 'node:timers/promises'
import {
  type AppendResult,
  comparePositions,
  type EventLog,
  type EventPlace,
  type Append as LogAppend,
  type RecordedEvent as LogEvent,
  type Page as LogPage,
  type UnparsedEvent as LogUnparsedEvent,
  type NewEvent,
  type Position,
  type ReadAllOptions,
  type ReadStreamOptions,
  type StreamRevision,
  type SubscribeToAllOptions,
} from '@transferd/event-log/types'

/**
 * The event-store port: the smallest set of operations that the service needs and every engine offers. If engines could differ, the
 * semantics are EventStoreDB's. docs/reference/event-store.md lists them.
 */
export * from '@transferd/event-log/types'
export type { LogAppend }

/**
 * An append of the service. It is at the revision that was read, because the codes of its events authenticate their revisions. Only the
 * decorator that adds codes serializes events before the engine does.
 */
export interface Append extends LogAppend {
  readonly expectedRevision: StreamRevision
  readonly events: readonly NewEvent[]
}

export interface UnparsedEvent extends LogUnparsedEvent {
  /** An operator decided to skip the event. `skipEvents` marks it; no engine does. */
  readonly isSkipped?: true
  /** The event does not carry a valid code of the service. `checkEventCodes` marks it; no engine does. */
  readonly isForged?: true
}

export interface RecordedEvent extends LogEvent, UnparsedEvent {
  /** The revision of the previous event that is not skipped, if skipped events precede this one; -1 if all of them are skipped. */
  readonly previousRevision?: number
}

/** A page of the log in its global order. */
export type Page<Event = RecordedEvent> = LogPage<Event>

export interface EventStore extends EventLog {
  append(stream: string, expectedRevision: StreamRevision, events: readonly NewEvent[]): Promise<AppendResult>
  appendInOrder(
    appends: readonly Append[],
    options?: { readonly pipelined?: boolean },
  ): Promise<readonly AppendResult[]>
  readStream(stream: string, options?: ReadStreamOptions): Promise<readonly RecordedEvent[]>
  readEvents(places: readonly EventPlace[]): Promise<readonly RecordedEvent[]>
  readAll(options: ReadAllOptions): Promise<Page>
  readUnparsed(options: Partial<Pick<ReadAllOptions, 'after' | 'maxCount'>>): Promise<Page<UnparsedEvent>>
  subscribeToAll(options: SubscribeToAllOptions): AsyncIterable<Page>
}

/** Returns the position of the last event, or `undefined` if the log is empty. @throws StoreUnavailableError */
export async function endOfLog(store: Pick<EventStore, 'subscribeToAll'>): Promise<Position | undefined> {
  const stopping = new AbortController()
  for await (const page of store.subscribeToAll({ after: 'end', pageSize: 1, signal: stopping.signal })) {
    stopping.abort()
    return page.checkpoint
  }
  return undefined
}

interface LogRange {
  /** Exclusive; defaults to the start of the log. */
  readonly after?: Position | undefined
  /** Inclusive; defaults to the current end of the log. */
  readonly until?: Position | undefined
  readonly streamPrefixes?: readonly string[]
  /** Defaults to 500. */
  readonly maxCount?: number
}

/**
 * Reads a range of the log page by page. `through` is the position up to which everything was read, or `undefined` if the log is empty.
 * Other work of the thread runs between two pages. @throws StoreUnavailableError
 */
export function logPages(store: Pick<EventStore, 'readAll'>, { maxCount = 500, streamPrefixes, ...range }: LogRange) {
  const options = { maxCount, ...(streamPrefixes && { streamPrefixes }) }
  return pagesOf(range, (from) => store.readAll({ ...options, ...from }))
}

/** Reads the log like {@link logPages}, but without parsing its events. @throws StoreUnavailableError */
export function unparsedPages(store: Pick<EventStore, 'readUnparsed'>, after: Position | undefined) {
  return pagesOf({ after }, (from) => store.readUnparsed(from))
}

async function* pagesOf<Event extends Pick<RecordedEvent, 'position'>>(
  { after, until }: Pick<LogRange, 'after' | 'until'>,
  read: (from: { readonly after?: Position }) => Promise<Page<Event>>,
) {
  let through = after
  while (!until || !through || comparePositions(through, until) < 0) {
    const { events, checkpoint, atEnd } = await read(through ? { after: through } : {})
    through = checkpoint ?? through
    if (until && through && comparePositions(through, until) > 0) {
      yield { events: events.filter(({ position }) => comparePositions(position, until) <= 0), through: until, atEnd }
      return
    }
    yield { events, through, atEnd }
    if (atEnd) return
    await setImmediate()
  }
}

/** The location of an event, which survives a move of the log to another engine. */
export type Place = Pick<RecordedEvent, 'stream' | 'revision'>

/** Returns the event at a place, or `undefined` if the place is empty. @throws StoreUnavailableError */
export async function eventAt(store: Pick<EventStore, 'readStream'>, { stream, revision }: Place) {
  const [event] = await store.readStream(stream, { fromRevision: revision, maxCount: 1 })
  return event?.revision === revision ? event : undefined
}

/** Returns the first event of a range, or `undefined` if it has none. @throws StoreUnavailableError */
export async function firstEventIn(store: Pick<EventStore, 'readAll'>, range: Omit<LogRange, 'maxCount'>) {
  for await (const { events } of logPages(store, { ...range, maxCount: 1 })) if (events[0]) return events[0]
  return undefined
}
