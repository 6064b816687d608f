import type { Direction, Page, Position, ReadAllOptions, ReadStreamOptions, RecordedEvent } from '../event-log-types.js'
import { BrokenLogError } from '../file/log-file.js'
import { type NameRange, nameRanges } from '../file/name-ranges.js'
import {
  isMetadataStream,
  metadataStream,
  noMetadata,
  parseMetadata,
  type StreamMetadata,
  tombstoneRevision,
} from '../file/stream-metadata.js'
import { findStream } from '../file/stream-numbers.js'
import {
  type RowPage,
  readRows,
  type Statements,
  type StoredEvent,
  type Stretch,
  statementForAll,
  toRecorded,
  toRecordedAsStored,
  toStored,
} from './event-rows.js'
import { ReadConnection } from './read-connection.js'
import { filterOf, RecentEvents } from './recent-events.js'

/** Events looked at for one page, matching or not: a few milliseconds, so that the thread can do other things in between. */
export const scanWindow = 10_000
/** UTF-16 units of event bodies after which a page ends; fewer for stored events, which may be held for a slow client. */
const recordedPageSize = 8 * 1024 * 1024
const storedPageSize = 1024 * 1024
const maxPrefixes = 100

/** What a stream shows at this moment. */
export interface StreamView {
  readonly isTombstoned: boolean
  /** No event was ever written, or the stream is soft-deleted. */
  readonly isMissing: boolean
  /** Revision of the last event, -1 when there is none. */
  readonly current: number
  /** Lower revisions are hidden. */
  readonly first: number
  /** Older events are hidden. */
  readonly notBeforeMs: number
  readonly number: number
}

/** Undefined at 0: there is no event. */
export function positionAt(position: number): Position | undefined {
  return position === 0 ? undefined : { commit: BigInt(position), prepare: BigInt(position) }
}

/** As a follower sees a stream: it is given every event that comes, even if readers no longer see it by then. */
export function followerView(view: StreamView): StreamView {
  return { ...view, first: 0, notBeforeMs: 0 }
}

/**
 * Synchronous reads on a connection of its own: no thread waits for another to read. Recorded events are parsed, and shown
 * whatever the metadata of their stream says; stored ones are bytes, and a {@link StreamView} tells which are shown.
 * Everything throws StoreUnavailableError.
 */
export class LogReader {
  readonly #recent = new RecentEvents()
  readonly #connection: ReadConnection

  constructor(directory: string) {
    this.#connection = new ReadConnection(directory)
  }

  /** Position of the last event, of system streams too; 0 when there is none. */
  lastPosition(): number {
    return this.#connection.read(({ lastPosition }) => lastPosition.get() ?? 0)
  }

  /** At most `maxCount` events, and only as many as fit a page. @throws BrokenLogError */
  readStream(
    stream: string,
    { direction, fromRevision, maxCount }: Required<ReadStreamOptions>,
  ): { readonly events: readonly RecordedEvent[]; readonly atEnd: boolean } {
    return this.#connection.read((statements) => {
      const number = findStream(statements.db, statements.numbers, stream)
      if (number === undefined) return { events: [], atEnd: true }
      const view = { number, first: 0, current: tombstoneRevision - 1, notBeforeMs: 0 }
      const page = { direction, from: fromRevision, maxCount, maxSize: recordedPageSize }
      const { rows, atEnd } = streamRows(statements, view, page)
      let revision = direction === 'forwards' ? fromRevision : Math.min(fromRevision, rows[0]?.[1] ?? 0)
      const events = rows.map((row) => {
        if (row[1] !== revision || row[3] !== stream) {
          throw new BrokenLogError(`position ${row[0]}: expected ${revision}@${stream}, found ${row[1]}@${row[3]}`)
        }
        revision += direction === 'forwards' ? 1 : -1
        return toRecorded(row)
      })
      return { events, atEnd }
    })
  }

  /** @throws BrokenLogError, RangeError */
  readAll(options: ReadAllOptions): Page {
    const ranges = nameRanges(options.streamPrefixes)
    if (ranges.length > maxPrefixes)
      throw new RangeError(`${ranges.length} stream prefixes; ${maxPrefixes} are the limit`)
    return this.#connection.read((statements) => {
      const end = statements.lastPosition.get() ?? 0
      const after = options.after === undefined ? 0 : Number(options.after.commit)
      if (after >= end) return { events: [], atEnd: true, ...checkpointAt(Math.max(after, end)) }
      const to = Math.min(after + scanWindow, end)
      const { maxCount } = options
      const { events, at } = options.includeStored
        ? storedBehind(statements, ranges, after, to, maxCount)
        : this.#recordedOf(options.streamPrefixes, statements, ranges, after, to, maxCount)
      return { events, atEnd: at === end, ...checkpointAt(at) }
    })
  }

  /** Of the last event, shown or not; -1 when there is none. */
  lastRevision(stream: string): number {
    return this.#connection.read((statements) => lastOf(statements, stream).current)
  }

  view(stream: string): StreamView {
    return this.#connection.read((statements) => {
      const { number, current, isTombstoned } = lastOf(statements, stream)
      const isOfTombstoned = isMetadataStream(stream) && lastOf(statements, stream.slice(2)).isTombstoned
      const metadata = isMetadataStream(stream) ? { ...noMetadata, maxCount: 1 } : this.metadata(stream)
      const { maxCount, maxAgeMs, truncateBefore, isSoftDeleted } = metadata
      return {
        isTombstoned: isTombstoned || isOfTombstoned,
        isMissing: current < 0 || isSoftDeleted,
        current,
        first: Math.max(truncateBefore, maxCount === undefined ? 0 : current - maxCount + 1),
        notBeforeMs: maxAgeMs === undefined ? 0 : Date.now() - maxAgeMs,
        number,
      }
    })
  }

  metadata(stream: string): StreamMetadata {
    const last = this.last(metadataStream(stream))
    return last === undefined ? noMetadata : parseMetadata(last.isJson, last.data)
  }

  /** The last event of a stream, whether it is shown or not; undefined when there is none, or it was tombstoned. */
  last(stream: string): StoredEvent | undefined {
    return this.#connection.read((statements) => {
      const { number, current, isTombstoned } = lastOf(statements, stream)
      return current < 0 || isTombstoned ? undefined : toStored(statements.event.get(number, current)!)
    })
  }

  /** The event at a revision, if the stream shows it. */
  visible(stream: string, revision: number): StoredEvent | undefined {
    const view = this.view(stream)
    if (view.isTombstoned || view.isMissing || revision < view.first || revision > view.current) return undefined
    const row = this.#connection.read(({ event }) => event.get(view.number, revision))
    return row !== undefined && row[2] >= view.notBeforeMs ? toStored(row) : undefined
  }

  /** At most `maxCount` shown events from a revision on, both included; fewer where a page is full of bytes. */
  streamPage(view: StreamView, direction: Direction, from: number, maxCount: number): StoredEvent[] {
    const page = { direction, from, maxCount, maxSize: storedPageSize }
    return this.#connection.read((statements) => streamRows(statements, view, page).rows.map(toStored))
  }

  /** The event that ended a stream. */
  tombstone(stream: string): StoredEvent | undefined {
    return this.#connection.read((statements) => {
      const row = statements.event.get(lastOf(statements, stream).number, tombstoneRevision)
      return row && toStored(row)
    })
  }

  /** Events of the whole log from a position on, included. */
  allPage(direction: Direction, from: number, maxCount: number): StoredEvent[] {
    const page = { direction, from, maxCount, maxSize: storedPageSize }
    return this.#connection.read((statements) =>
      allRows(statements, [], Number.MAX_SAFE_INTEGER, page).rows.map(toStored),
    )
  }

  /** Position and stream of the events behind a position. */
  namesBehind(position: number, maxCount: number): [position: number, stream: string][] {
    return this.#connection.read(({ names }) => names.all(position, maxCount))
  }

  /** Whether a stream, or its metadata, has an event behind a position. */
  hasEventBehind(stream: string, position: number): boolean {
    return this.#connection.read((statements) =>
      [stream, metadataStream(stream)].some((name) => {
        const number = findStream(statements.db, statements.numbers, name)
        return number !== undefined && (statements.lastPlace.get(number) ?? 0) > position
      }),
    )
  }

  close(): void {
    this.#connection.close()
  }

  #recordedOf(
    prefixes: readonly string[] | undefined,
    statements: Statements,
    ranges: readonly NameRange[],
    after: number,
    to: number,
    maxCount: number,
  ): LookedAt {
    const wider = prefixes && ranges.length > 0 ? this.#recent.wider(ranges, after) : undefined
    if (!prefixes || !wider) return this.#recordedBehind(statements, ranges, after, to, maxCount)
    const own: RecordedEvent[] = []
    let at = after
    while (own.length < maxCount && at < to) {
      const page = this.#recordedBehind(statements, wider, at, to, maxCount - own.length)
      for (const event of page.events) if (prefixes.some((prefix) => event.stream.startsWith(prefix))) own.push(event)
      at = page.at
    }
    return { events: own, at }
  }

  #recordedBehind(
    statements: Statements,
    ranges: readonly NameRange[],
    after: number,
    to: number,
    maxCount: number,
  ): LookedAt {
    if (ranges.length === 0) return { events: [], at: to }
    const filter = filterOf(ranges)
    const { events: known, through } = this.#recent.behind(filter, after, maxCount)
    if (known.length === maxCount || through >= to) return { events: known, at: through }
    const page = { direction: 'forwards', from: through + 1, maxCount: maxCount - known.length } as const
    const { rows, size, atEnd } = allRows(statements, ranges, to, { ...page, maxSize: recordedPageSize })
    const events = rows.map(toRecorded)
    const at = atEnd ? to : (rows.at(-1)?.[0] ?? to)
    this.#recent.add(filter, { after: through, through: at, events, size })
    return { events: known.length === 0 ? events : [...known, ...events], at }
  }
}

/** The events of a page, and how far the log has been looked at. */
interface LookedAt {
  readonly events: readonly RecordedEvent[]
  readonly at: number
}

function storedBehind(
  statements: Statements,
  ranges: readonly NameRange[],
  after: number,
  to: number,
  maxCount: number,
): LookedAt {
  if (ranges.length === 0) return { events: [], at: to }
  const stretch = { direction: 'forwards', from: after + 1, maxCount, maxSize: recordedPageSize } as const
  const { rows, atEnd } = allRows(statements, ranges, to, stretch)
  return { events: rows.map(toRecordedAsStored), at: atEnd ? to : (rows.at(-1)?.[0] ?? to) }
}

function lastOf(statements: Statements, stream: string): { number: number; current: number; isTombstoned: boolean } {
  const number = findStream(statements.db, statements.numbers, stream)
  const [last = -1, before = -1] = number === undefined ? [] : statements.lastTwo.all(number)
  const isTombstoned = last === tombstoneRevision
  return { number: number ?? 0, current: isTombstoned ? before : last, isTombstoned }
}

function streamRows(
  statements: Statements,
  { number, first, current, notBeforeMs }: Pick<StreamView, 'number' | 'first' | 'current' | 'notBeforeMs'>,
  stretch: Stretch,
): RowPage {
  const statement = statements.stream[stretch.direction]
  return stretch.direction === 'forwards'
    ? readRows({ ...stretch, from: Math.max(stretch.from, first) }, 1, (from, count) =>
        statement.all(number, from, current, notBeforeMs, count),
      )
    : readRows({ ...stretch, from: Math.min(stretch.from, current) }, 1, (from, count) =>
        statement.all(number, first, from, notBeforeMs, count),
      )
}

/** @param to the last position, when reading forwards */
function allRows(statements: Statements, ranges: readonly NameRange[], to: number, stretch: Stretch): RowPage {
  const statement = statementForAll(statements, stretch.direction, ranges)
  const names = ranges.flatMap(({ from, to }) => (to === undefined ? [from] : [from, to]))
  return readRows(stretch, 0, (from, count) =>
    stretch.direction === 'forwards'
      ? statement.all(from, to, ...names, count)
      : statement.all(0, from, ...names, count),
  )
}

function checkpointAt(position: number): { readonly checkpoint?: Position } {
  const checkpoint = positionAt(position)
  return checkpoint === undefined ? {} : { checkpoint }
}
