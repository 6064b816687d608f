import type Database from 'better-sqlite3'
import type { Statement } from 'better-sqlite3'
import { type Body, decodeBody, type EventContent } from '../file/event-body.js'
import { ReadConnection } from '../file/read-connection.js'
import {
  isMetadataStream,
  metadataStream,
  noMetadata,
  parseMetadata,
  type StreamMetadata,
  tombstoneRevision,
} from '../file/stream-metadata.js'
import { findStream, StreamNumbers } from '../file/stream-numbers.js'

/** Bytes of bodies after which a page ends. */
const pageBytes = 1024 * 1024
const rowsAtOnce = 100

export interface StoredEvent extends EventContent {
  readonly stream: string
  /** {@link tombstoneRevision} for the event that ended the stream. */
  readonly revision: number
  readonly position: number
  readonly recordedAtMs: number
}

export type Direction = 'forwards' | 'backwards'

/** How somebody who follows a stream sees it: what comes is given to them, whatever is hidden from readers by then. */
export function asFollowed(view: StreamView): StreamView {
  return { ...view, first: 0, notBeforeMs: Number.NEGATIVE_INFINITY }
}

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

type Row = [position: number, revision: number, recordedAtMs: number, name: string, body: Body]
const columns = 'position, revision, recorded_at, name, body'

interface Statements {
  readonly db: Database.Database
  readonly numbers: StreamNumbers
  readonly lastPosition: Statement<[], number | null>
  readonly lastTwo: Statement<[number], number>
  readonly event: Statement<[number, number], Row>
  readonly streamForwards: Statement<[number, number, number], Row>
  readonly streamBackwards: Statement<[number, number, number], Row>
  readonly allForwards: Statement<[number, number], Row>
  readonly allBackwards: Statement<[number, number], Row>
  readonly names: Statement<[number, number], [number, string]>
  readonly lastPlace: Statement<[number], number>
}

/** Synchronous reads of everything the protocol shows, on a connection of its own. Throws StoreUnavailableError. */
export class StreamReader {
  readonly #connection: ReadConnection<Statements>

  constructor(directory: string) {
    this.#connection = new ReadConnection(directory, prepared)
  }

  /** 0 on an empty log. */
  lastPosition(): number {
    return this.#connection.read(({ lastPosition }) => lastPosition.get() ?? 0)
  }

  /** Of the last event, shown or not; -1 when there is none. */
  lastRevision(stream: string): number {
    return this.#connection.read((statements) => this.#lastOf(statements, stream).current)
  }

  view(stream: string): StreamView {
    return this.#connection.read((statements) => {
      const { number, current, isTombstoned } = this.#lastOf(statements, stream)
      const isOfTombstoned = isMetadataStream(stream) && this.#lastOf(statements, stream.slice(2)).isTombstoned
      const metadata = isMetadataStream(stream) ? { ...noMetadata, maxCount: 1 } : this.metadata(stream)
      const { maxCount, maxAgeMs, truncateBefore, isSoftDeleted } = metadata
      return {
        isTombstoned: isTombstoned || isOfTombstoned,
        isMissing: current < 0 || isSoftDeleted,
        current,
        first: Math.max(truncateBefore, maxCount === undefined ? 0 : current - maxCount + 1),
        notBeforeMs: maxAgeMs === undefined ? Number.NEGATIVE_INFINITY : Date.now() - maxAgeMs,
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
      const { number, current, isTombstoned } = this.#lastOf(statements, stream)
      return current < 0 || isTombstoned ? undefined : toEvent(statements.event.get(number, current)!)
    })
  }

  /** The event at a revision, if the stream shows it. */
  visible(stream: string, revision: number): StoredEvent | undefined {
    const view = this.view(stream)
    if (view.isTombstoned || view.isMissing || revision < view.first || revision > view.current) return undefined
    const row = this.#connection.read(({ event }) => event.get(view.number, revision))
    return row !== undefined && row[2] >= view.notBeforeMs ? toEvent(row) : undefined
  }

  /** At most `maxCount` shown events from a revision on, both included; fewer where a page is full of bytes. */
  streamPage(view: StreamView, direction: Direction, from: number, maxCount: number): StoredEvent[] {
    const forwards = direction === 'forwards'
    return this.#connection.read(({ streamForwards, streamBackwards }) => {
      const statement = forwards ? streamForwards : streamBackwards
      let at = forwards ? Math.max(from, view.first) : Math.min(from, view.current)
      const events: StoredEvent[] = []
      let bytes = 0
      while (events.length < maxCount && bytes < pageBytes) {
        const wanted = Math.min(maxCount - events.length, rowsAtOnce)
        const rows = statement.all(view.number, at, wanted)
        for (const row of rows) {
          if (row[1] > view.current || row[1] < view.first) return events
          if (row[2] >= view.notBeforeMs) events.push(toEvent(row))
          else if (!forwards) return events
          bytes += row[4].length
          at = row[1] + (forwards ? 1 : -1)
        }
        if (rows.length < wanted || at < 0) return events
      }
      return events
    })
  }

  /** The event that ended a stream. */
  tombstone(stream: string): StoredEvent | undefined {
    return this.#connection.read((statements) => {
      const number = this.#numberOf(statements, stream)
      const row = number === undefined ? undefined : statements.event.get(number, tombstoneRevision)
      return row && toEvent(row)
    })
  }

  /** Events of the whole log from a position on, included. */
  allPage(direction: Direction, from: number, maxCount: number): StoredEvent[] {
    const forwards = direction === 'forwards'
    return this.#connection.read(({ allForwards, allBackwards }) => {
      const statement = forwards ? allForwards : allBackwards
      const events: StoredEvent[] = []
      let bytes = 0
      let at = from
      while (events.length < maxCount && bytes < pageBytes) {
        const wanted = Math.min(maxCount - events.length, rowsAtOnce)
        const rows = statement.all(at, wanted)
        for (const row of rows) {
          events.push(toEvent(row))
          bytes += row[4].length
          at = row[0] + (forwards ? 1 : -1)
        }
        if (rows.length < wanted) return events
      }
      return events
    })
  }

  /** Position and stream of the events behind a position. */
  namesBehind(position: number, maxCount: number): [position: number, stream: string][] {
    return this.#connection.read(({ names }) => names.all(position, maxCount))
  }

  /** Whether a stream, or its metadata, has an event behind a position. */
  hasEventBehind(stream: string, position: number): boolean {
    return this.#connection.read((statements) =>
      [stream, metadataStream(stream)].some((name) => {
        const number = this.#numberOf(statements, name)
        return number !== undefined && (statements.lastPlace.get(number) ?? 0) > position
      }),
    )
  }

  close(): void {
    this.#connection.close()
  }

  #lastOf(statements: Statements, stream: string): { number: number; current: number; isTombstoned: boolean } {
    const number = this.#numberOf(statements, stream)
    const [last = -1, before = -1] = number === undefined ? [] : statements.lastTwo.all(number)
    const isTombstoned = last === tombstoneRevision
    return { number: number ?? 0, current: isTombstoned ? before : last, isTombstoned }
  }

  #numberOf({ db, numbers }: Statements, stream: string): number | undefined {
    return findStream(db, numbers, stream)
  }
}

function prepared(db: Database.Database): Statements {
  const rows = <P extends unknown[]>(where: string) =>
    db.prepare<P, Row>(`SELECT ${columns} FROM events ${where}`).raw()
  return {
    db,
    numbers: new StreamNumbers(db),
    lastPosition: db.prepare<[], number | null>('SELECT max(position) FROM events').pluck(),
    lastTwo: db
      .prepare<[number], number>('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 2')
      .pluck(),
    event: rows('WHERE stream = ? AND revision = ?'),
    streamForwards: rows('WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?'),
    streamBackwards: rows('WHERE stream = ? AND revision <= ? ORDER BY revision DESC LIMIT ?'),
    allForwards: rows('WHERE position >= ? ORDER BY position LIMIT ?'),
    allBackwards: rows('WHERE position <= ? ORDER BY position DESC LIMIT ?'),
    names: db
      .prepare<[number, number], [number, string]>(
        'SELECT position, name FROM events WHERE position > ? ORDER BY position LIMIT ?',
      )
      .raw(),
    lastPlace: db
      .prepare<[number], number>('SELECT position FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1')
      .pluck(),
  }
}

function toEvent([position, revision, recordedAtMs, stream, body]: Row): StoredEvent {
  return { ...decodeBody(body), stream, revision, position, recordedAtMs }
}
