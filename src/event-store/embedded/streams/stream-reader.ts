import type Database from 'better-sqlite3'
import type { Statement } from 'better-sqlite3'
import { openForReading } from '../log-file.js'
import { StreamNumbers } from '../stream-numbers.js'
import { type Body, decodeBody, type EventContent } from './event-body.js'
import {
  isMetadataStream,
  metadataStream,
  noMetadata,
  parseMetadata,
  type StreamMetadata,
  tombstoneRevision,
} from './stream-metadata.js'

/** Bytes of bodies after which a page ends. */
const pageBytes = 4 * 1024 * 1024

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

/** Synchronous reads of everything the protocol shows, on a connection of its own. */
export class StreamReader {
  readonly #db: Database.Database
  readonly #numbers: StreamNumbers
  readonly #lastPosition: Statement<[], number | null>
  readonly #lastTwo: Statement<[number], number>
  readonly #event: Statement<[number, number], Row>
  readonly #streamForwards: Statement<[number, number, number], Row>
  readonly #streamBackwards: Statement<[number, number, number], Row>
  readonly #allForwards: Statement<[number, number], Row>
  readonly #allBackwards: Statement<[number, number], Row>
  readonly #names: Statement<[number, number], [number, string]>
  readonly #lastPlace: Statement<[number], number>

  constructor(directory: string) {
    const db = openForReading(directory)
    this.#db = db
    this.#numbers = new StreamNumbers(db)
    this.#lastPosition = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck()
    this.#lastTwo = db
      .prepare<[number], number>('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 2')
      .pluck()
    const rows = <P extends unknown[]>(where: string) =>
      db.prepare<P, Row>(`SELECT ${columns} FROM events ${where}`).raw()
    this.#event = rows('WHERE stream = ? AND revision = ?')
    this.#streamForwards = rows('WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?')
    this.#streamBackwards = rows('WHERE stream = ? AND revision <= ? ORDER BY revision DESC LIMIT ?')
    this.#allForwards = rows('WHERE position >= ? ORDER BY position LIMIT ?')
    this.#allBackwards = rows('WHERE position <= ? ORDER BY position DESC LIMIT ?')
    this.#names = db
      .prepare<[number, number], [number, string]>(
        'SELECT position, name FROM events WHERE position > ? ORDER BY position LIMIT ?',
      )
      .raw()
    this.#lastPlace = db
      .prepare<[number], number>('SELECT position FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1')
      .pluck()
  }

  /** 0 on an empty log. */
  lastPosition(): number {
    return this.#lastPosition.get() ?? 0
  }

  view(stream: string): StreamView {
    const number = this.#numberOf(stream)
    const [last = -1, before = -1] = number === undefined ? [] : this.#lastTwo.all(number)
    const isTombstoned = last === tombstoneRevision || (isMetadataStream(stream) && this.#isTombstoned(stream.slice(2)))
    const current = last === tombstoneRevision ? before : last
    const metadata = isMetadataStream(stream) ? { ...noMetadata, maxCount: 1 } : this.metadata(stream)
    const { maxCount, maxAgeMs, truncateBefore, isSoftDeleted } = metadata
    return {
      isTombstoned,
      isMissing: current < 0 || isSoftDeleted,
      current,
      first: Math.max(truncateBefore, maxCount === undefined ? 0 : current - maxCount + 1),
      notBeforeMs: maxAgeMs === undefined ? Number.NEGATIVE_INFINITY : Date.now() - maxAgeMs,
      number: number ?? 0,
    }
  }

  metadata(stream: string): StreamMetadata {
    const last = this.last(metadataStream(stream))
    return last === undefined ? noMetadata : parseMetadata(last.isJson, last.data)
  }

  /** The last event of a stream, whether it is shown or not; undefined when there is none, or it was tombstoned. */
  last(stream: string): StoredEvent | undefined {
    const number = this.#numberOf(stream)
    const [revision] = number === undefined ? [] : this.#lastTwo.all(number)
    if (number === undefined || revision === undefined || revision === tombstoneRevision) return undefined
    return toEvent(this.#event.get(number, revision)!)
  }

  /** The event at a revision, if the stream shows it. */
  visible(stream: string, revision: number): StoredEvent | undefined {
    const view = this.view(stream)
    if (view.isTombstoned || view.isMissing || revision < view.first || revision > view.current) return undefined
    const row = this.#event.get(view.number, revision)
    return row !== undefined && row[2] >= view.notBeforeMs ? toEvent(row) : undefined
  }

  /** At most `maxCount` shown events from a revision on, both included; fewer where a page is full of bytes. */
  streamPage(view: StreamView, direction: Direction, from: number, maxCount: number): StoredEvent[] {
    const forwards = direction === 'forwards'
    let at = forwards ? Math.max(from, view.first) : Math.min(from, view.current)
    const events: StoredEvent[] = []
    let bytes = 0
    while (events.length < maxCount && bytes < pageBytes) {
      const wanted = Math.min(maxCount - events.length, 100)
      const rows = (forwards ? this.#streamForwards : this.#streamBackwards).all(view.number, at, wanted)
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
  }

  /** The event that ended a stream. */
  tombstone(stream: string): StoredEvent | undefined {
    const number = this.#numberOf(stream)
    const row = number === undefined ? undefined : this.#event.get(number, tombstoneRevision)
    return row && toEvent(row)
  }

  /** Events of the whole log from a position on, included. */
  allPage(direction: Direction, from: number, maxCount: number): StoredEvent[] {
    const forwards = direction === 'forwards'
    const events: StoredEvent[] = []
    let bytes = 0
    let at = from
    while (events.length < maxCount && bytes < pageBytes) {
      const wanted = Math.min(maxCount - events.length, 100)
      const rows = (forwards ? this.#allForwards : this.#allBackwards).all(at, wanted)
      for (const row of rows) {
        events.push(toEvent(row))
        bytes += row[4].length
        at = row[0] + (forwards ? 1 : -1)
      }
      if (rows.length < wanted) return events
    }
    return events
  }

  /** Position and stream of the events behind a position. */
  namesBehind(position: number, maxCount: number): [position: number, stream: string][] {
    return this.#names.all(position, maxCount)
  }

  /** Whether a stream, or its metadata, has an event behind a position. */
  hasEventBehind(stream: string, position: number): boolean {
    return [stream, metadataStream(stream)].some((name) => {
      const number = this.#numberOf(name)
      return number !== undefined && (this.#lastPlace.get(number) ?? 0) > position
    })
  }

  close(): void {
    this.#db.close()
  }

  #isTombstoned(stream: string): boolean {
    const number = this.#numberOf(stream)
    return number !== undefined && this.#lastTwo.all(number)[0] === tombstoneRevision
  }

  #numberOf(stream: string): number | undefined {
    return this.#numbers.find(stream) ?? this.#db.transaction(() => this.#findYoung(stream))()
  }

  /** Within one snapshot: between looking at the index and at the young, a merge may move a stream from these to that. */
  #findYoung(stream: string): number | undefined {
    this.#numbers.refresh()
    return this.#numbers.find(stream)
  }
}

function toEvent([position, revision, recordedAtMs, stream, body]: Row): StoredEvent {
  return { ...decodeBody(body), stream, revision, position, recordedAtMs }
}
