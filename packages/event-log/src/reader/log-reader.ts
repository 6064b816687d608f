import {
  type Direction,
  type EventPlace,
  maxStreamPrefixes,
  type Page,
  type Position,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  type StreamRange,
  type UnparsedEvent,
} from '../event-log-types.js'
import { damagedType, toPosition } from '../file/event-body.js'
import {
  anyTimeMs,
  isMetadataStream,
  metadataOfMetadata,
  metadataStream,
  parseMetadata,
  type StreamMetadata,
  tombstoneRevision,
  visibleRange,
} from '../file/stream-metadata.js'
import { findStream } from '../file/stream-numbers.js'
import {
  filterOf,
  type NameRange,
  nameRanges,
  type ReadRange,
  RecentEvents,
  type RowPage,
  readRows,
  type Statements,
  statementForAll,
  toRecorded,
  toStored,
  toUnparsed,
  withBodies,
} from './event-rows.js'
import { ReadConnection } from './read-connection.js'
import type { StoredEvent } from './stored-event.js'

/** The number of events that one page scans, matching or not. It takes a few milliseconds, between which the thread can do other work. */
export const scanWindow = 10_000
/**
 * The size of event bodies in UTF-16 units at which a page ends: a thousand events of two kilobytes. Parsed events need several times as
 * much, and a process keeps a few pages. It is smaller for stored events, which a slow client may hold up.
 */
const recordedPageSize = 2 * 1024 * 1024
const storedPageSize = 1024 * 1024

/** The current state of a stream and the range of events that it shows. */
export interface StreamView {
  readonly isTombstoned: boolean
  /** Whether the stream is soft-deleted or never had an event. */
  readonly isMissing: boolean
  /** The revision of the last event, or -1 if the stream is empty. */
  readonly current: number
  /** The first visible revision. */
  readonly first: number
  /** The time in milliseconds before which events are hidden. */
  readonly notBeforeMs: number
  readonly number: number
}

/** Returns the view of a subscriber, which receives every new event even if it is hidden by the time it is read. */
export function followerView(view: StreamView): StreamView {
  return { ...view, first: 0, notBeforeMs: anyTimeMs }
}

/** A part of the global order to scan. */
interface ScanRange {
  readonly ranges: readonly NameRange[]
  readonly after: number
  readonly to: number
  readonly maxCount: number
}

interface ScanResult<Event = RecordedEvent> {
  readonly events: readonly Event[]
  /** The position up to which the log was scanned. */
  readonly through: number
}

/**
 * Reads synchronously on its own connection, so that no thread waits for another. Recorded events are parsed and returned regardless
 * of their stream's metadata. Stored events are bytes, and a {@link StreamView} defines which of them are visible. All methods
 * throw StoreUnavailableError.
 */
export class LogReader {
  readonly #recent = new RecentEvents()
  readonly #connection: ReadConnection

  constructor(directory: string) {
    this.#connection = new ReadConnection(directory)
  }

  /** Returns the position of the last event, including those of system streams, or 0 if the log is empty. */
  lastPosition(): number {
    return this.#connection.read(({ lastPosition }) => lastPosition.get() ?? 0)
  }

  /** Returns at most `maxCount` events, limited to the size of a page. */
  readStream(
    stream: string,
    { direction, fromRevision, maxCount }: Required<ReadStreamOptions>,
  ): { readonly events: readonly RecordedEvent[]; readonly atEnd: boolean } {
    return this.#connection.readTogether((statements) => {
      const number = findStream(statements.db, statements.numbers, stream)
      if (number === undefined) return { events: [], atEnd: true }
      const view = { number, first: 0, current: tombstoneRevision - 1, notBeforeMs: anyTimeMs }
      const range = { direction, from: fromRevision, maxCount, maxSize: recordedPageSize }
      const { rows, atEnd } = streamRows(statements, view, range)
      let revision = direction === 'forwards' ? fromRevision : Math.min(fromRevision, rows[0]?.[1] ?? 0)
      const events = rows.map((row) => {
        const event = toRecorded(row)
        const isInPlace = row[1] === revision && row[3] === stream
        revision = row[1] + (direction === 'forwards' ? 1 : -1)
        // The event before it is missing, or the row names a different stream.
        return isInPlace ? event : { ...event, stream, type: damagedType }
      })
      return { events, atEnd }
    })
  }

  /** Returns the events at these positions with one statement, by position. */
  readPositions(positions: readonly number[]): ReadonlyMap<number, RecordedEvent> {
    return this.#connection.read((statements) => {
      const rows = withBodies(statements, statements.positions.all(JSON.stringify(positions)))
      return new Map(rows.map((row) => [row[0], toRecorded(row)]))
    })
  }

  /** @throws RangeError */
  readAll({ after, streamPrefixes, maxCount }: ReadAllOptions): Page {
    const ranges = nameRanges(streamPrefixes)
    if (ranges.length > maxStreamPrefixes)
      throw new RangeError(`${ranges.length} stream prefixes exceed the limit of ${maxStreamPrefixes}`)
    return this.#page(after, maxCount, (statements, range) =>
      this.#scanWithOthers(statements, { ...range, ranges }, streamPrefixes),
    )
  }

  /** Returns unreadable events too. */
  readUnparsed({ after, maxCount }: Pick<ReadAllOptions, 'after' | 'maxCount'>): Page<UnparsedEvent> {
    return this.#page(after, maxCount, (statements, range) => {
      const { rows, through } = scanRows(statements, { ...range, ranges: nameRanges(undefined) })
      return { events: rows.map(toUnparsed), through }
    })
  }

  readPlaces(ranges: readonly StreamRange[]): readonly (readonly EventPlace[])[] {
    return this.#connection.readTogether(({ db, numbers, places }) =>
      ranges.map(({ stream, fromRevision, maxCount }) => {
        const number = findStream(db, numbers, stream)
        const rows = number === undefined ? [] : places.all(number, fromRevision, maxCount)
        return rows.map(([position, revision]) => ({ stream, revision, position: toPosition(position) }))
      }),
    )
  }

  /** Returns the revision of the last event, visible or not, or -1 if the stream is empty. */
  lastRevision(stream: string): number {
    return this.#connection.read((statements) => lastOf(statements, stream).current)
  }

  view(stream: string): StreamView {
    return this.#connection.read((statements) => {
      const { number, current, isTombstoned } = lastOf(statements, stream)
      const isMetadata = isMetadataStream(stream)
      const metadata = isMetadata ? metadataOfMetadata : this.metadata(stream)
      return {
        isTombstoned: isTombstoned || (isMetadata && lastOf(statements, stream.slice(2)).isTombstoned),
        isMissing: current < 0 || metadata.isSoftDeleted,
        current,
        ...visibleRange(metadata, current, Date.now()),
        number,
      }
    })
  }

  metadata(stream: string): StreamMetadata {
    return parseMetadata(this.last(metadataStream(stream)))
  }

  /** Returns the last event of a stream, visible or not, or `undefined` if the stream has none or is tombstoned. */
  last(stream: string): StoredEvent | undefined {
    return this.#connection.read((statements) => {
      const { number, current, isTombstoned } = lastOf(statements, stream)
      return current < 0 || isTombstoned ? undefined : storedAt(statements, number, current)
    })
  }

  /** Returns the event at a revision if it is visible. */
  visible(stream: string, revision: number): StoredEvent | undefined {
    const view = this.view(stream)
    if (view.isTombstoned || view.isMissing || revision < view.first || revision > view.current) return undefined
    const event = this.#connection.read((statements) => storedAt(statements, view.number, revision))
    return event === undefined || event.recordedAtMs < view.notBeforeMs ? undefined : event
  }

  /** Returns at most `maxCount` visible events from a revision on, inclusive, limited to the size of a page. */
  streamPage(view: StreamView, direction: Direction, from: number, maxCount: number): StoredEvent[] {
    const range = { direction, from, maxCount, maxSize: storedPageSize }
    return this.#connection.read((statements) => streamRows(statements, view, range).rows.map(toStored))
  }

  /** Returns the event that ended a stream. */
  tombstone(stream: string): StoredEvent | undefined {
    return this.#connection.read((statements) =>
      storedAt(statements, lastOf(statements, stream).number, tombstoneRevision),
    )
  }

  /** Returns events of the whole log from a position on, inclusive. */
  allPage(direction: Direction, from: number, maxCount: number): StoredEvent[] {
    const range = { direction, from, maxCount, maxSize: storedPageSize }
    return this.#connection.read((statements) =>
      allRows(statements, [], Number.MAX_SAFE_INTEGER, range).rows.map(toStored),
    )
  }

  /** Returns the positions and stream names of the events after a position. */
  streamNamesAfter(position: number, maxCount: number): [position: number, stream: string][] {
    return this.#connection.read(({ names }) => names.all(position, maxCount))
  }

  /** Returns whether a stream or its metadata has an event after a position. */
  hasEventAfter(stream: string, position: number): boolean {
    return this.#connection.read((statements) =>
      [stream, metadataStream(stream)].some((name) => {
        const number = findStream(statements.db, statements.numbers, name)
        return number !== undefined && (statements.lastPositionIn.get(number) ?? 0) > position
      }),
    )
  }

  close(): void {
    this.#connection.close()
  }

  #page<Event>(
    position: Position | undefined,
    maxCount: number,
    scan: (statements: Statements, range: Omit<ScanRange, 'ranges'>) => ScanResult<Event>,
  ): Page<Event> {
    return this.#connection.read((statements) => {
      const end = statements.lastPosition.get() ?? 0
      const after = Number(position?.commit ?? 0n)
      const isBehind = after >= end
      const { events, through } = isBehind
        ? { events: [], through: after }
        : scan(statements, { after, to: Math.min(after + scanWindow, end), maxCount })
      return { events, atEnd: isBehind || through === end, ...(through > 0 && { checkpoint: toPosition(through) }) }
    })
  }

  /** Scans with a wider filter of other readers, if there is one, so that each event is read only once for all of them. */
  #scanWithOthers(statements: Statements, range: ScanRange, prefixes: readonly string[] | undefined): ScanResult {
    const { ranges, after, to, maxCount } = range
    const wider = prefixes && ranges.length > 0 ? this.#recent.findWider(ranges, after) : undefined
    if (!prefixes || !wider) return this.#scan(statements, range)
    const events: RecordedEvent[] = []
    let through = after
    while (events.length < maxCount && through < to) {
      const page = this.#scan(statements, { ranges: wider, after: through, to, maxCount: maxCount - events.length })
      for (const event of page.events)
        if (prefixes.some((prefix) => event.stream.startsWith(prefix))) events.push(event)
      through = page.through
    }
    return { events, through }
  }

  #scan(statements: Statements, { ranges, after, to, maxCount }: ScanRange): ScanResult {
    if (ranges.length === 0) return { events: [], through: to }
    const filter = filterOf(ranges)
    const { events: known, through: knownThrough } = this.#recent.after(filter, after, maxCount)
    if (known.length === maxCount || knownThrough >= to) return { events: known, through: knownThrough }
    const range = { ranges, after: knownThrough, to, maxCount: maxCount - known.length }
    const { rows, size, through } = scanRows(statements, range)
    const events = rows.map(toRecorded)
    this.#recent.add(filter, { after: knownThrough, through, events, size })
    return { events: known.length === 0 ? events : [...known, ...events], through }
  }
}

function scanRows(statements: Statements, { ranges, after, to, maxCount }: ScanRange) {
  const range = { direction: 'forwards', from: after + 1, maxCount, maxSize: recordedPageSize } as const
  const { rows, size, atEnd } = allRows(statements, ranges, to, range)
  return { rows, size, through: atEnd ? to : (rows.at(-1)?.[0] ?? to) }
}

function storedAt(statements: Statements, stream: number, revision: number): StoredEvent | undefined {
  const row = statements.event.get(stream, revision)
  return row && withBodies(statements, [row]).map(toStored)[0]
}

function lastOf(statements: Statements, stream: string): { number: number; current: number; isTombstoned: boolean } {
  const number = findStream(statements.db, statements.numbers, stream)
  const [last = -1, previous = -1] = number === undefined ? [] : statements.lastTwo.all(number)
  const isTombstoned = last === tombstoneRevision
  return { number: number ?? 0, current: isTombstoned ? previous : last, isTombstoned }
}

function streamRows(
  statements: Statements,
  { number, first, current, notBeforeMs }: Pick<StreamView, 'number' | 'first' | 'current' | 'notBeforeMs'>,
  range: ReadRange,
): RowPage {
  const statement = statements.stream[range.direction]
  return range.direction === 'forwards'
    ? readRows(statements, { ...range, from: Math.max(range.from, first) }, 1, (from, count) =>
        statement.all(number, from, current, notBeforeMs, count),
      )
    : readRows(statements, { ...range, from: Math.min(range.from, current) }, 1, (from, count) =>
        statement.all(number, first, from, notBeforeMs, count),
      )
}

/** @param to The last position when reading forwards. */
function allRows(statements: Statements, ranges: readonly NameRange[], to: number, range: ReadRange): RowPage {
  const statement = statementForAll(statements, range.direction, ranges)
  const names = ranges.flatMap(({ from, to }) => (to === undefined ? [from] : [from, to]))
  return readRows(statements, range, 0, (from, count) =>
    range.direction === 'forwards' ? statement.all(from, to, ...names, count) : statement.all(0, from, ...names, count),
  )
}
