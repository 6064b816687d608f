import type { Database, Statement } from 'better-sqlite3'
import { decodeBody, parseObject } from '../file/event-body.js'
import { BrokenLogError } from '../file/log-file.js'
import { type NameRange, nameRanges } from '../file/name-ranges.js'
import { ReadConnection } from '../file/read-connection.js'
import { tombstoneRevision } from '../file/stream-metadata.js'
import { findStream, StreamNumbers } from '../file/stream-numbers.js'
import type {
  Direction,
  JsonObject,
  Page,
  Position,
  ReadAllOptions,
  ReadStreamOptions,
  RecordedEvent,
} from '../types.js'
import { RecentEvents, type Stretch } from './recent-events.js'

/** Events looked at for one page, matching or not: a few milliseconds, then other work of the thread has its turn. */
export const scanWindow = 10_000
/** Rows fetched at a time. */
const chunkRows = 256
/** UTF-16 units of event bodies after which a page ends. */
const pageSize = 8 * 1024 * 1024
const maxPrefixes = 100
const maxStatements = 100
/** The highest an event that is read may have: the one that ends a stream is not read. */
const lastRevision = tombstoneRevision - 1

type Row = [position: number, revision: number, recordedAtMs: number, name: string, body: string | Uint8Array]

type Body = [id: string, type: string, data: JsonObject, metadata: JsonObject]

const columns = 'position, revision, recorded_at, name, body'

interface StreamPage {
  readonly events: readonly RecordedEvent[]
  readonly atEnd: boolean
  /** Revision from which to read on. */
  readonly next: number
}

interface Statements {
  readonly db: Database
  readonly numbers: StreamNumbers
  readonly ofStream: { readonly [direction in Direction]: Statement<[number, number, number], Row> }
  readonly lastPosition: Statement<[], number | null>
  /** By the condition on the name. */
  readonly ofAll: Map<string, Statement<(string | number)[], Row>>
}

/** Synchronous reads on a connection of one's own: no thread waits for another to read. */
export class LogReader {
  readonly #recent = new RecentEvents()
  readonly #connection: ReadConnection<Statements>

  constructor(directory: string) {
    this.#connection = new ReadConnection(directory, prepared)
  }

  /** Position of the last event, of system streams too; 0 when there is none. */
  lastPosition(): number {
    return this.#connection.read((statements) => statements.lastPosition.get() ?? 0)
  }

  /** At most `maxCount` events, and only as many as fit a page. */
  readStream(stream: string, options: Required<ReadStreamOptions>): StreamPage {
    return this.#connection.read((statements) => {
      const ofStream = statements.ofStream[options.direction]
      const step = options.direction === 'forwards' ? 1 : -1
      const number = findStream(statements.db, statements.numbers, stream)
      const events: RecordedEvent[] = []
      let size = 0
      let next = Math.min(options.fromRevision, lastRevision)
      if (number === undefined) return { events, atEnd: true, next }
      while (events.length < options.maxCount && size < pageSize) {
        const wanted = Math.min(chunkRows, options.maxCount - events.length)
        const rows = ofStream.all(number, next, wanted)
        // Backwards from behind the end begins at the end.
        if (step < 0 && events.length === 0) next = Math.min(next, rows[0]?.[1] ?? next)
        for (const row of rows) {
          if (row[1] === tombstoneRevision) return { events, atEnd: true, next }
          if (row[1] !== next || row[3] !== stream) {
            throw new BrokenLogError(`position ${row[0]}: expected ${next}@${stream}, found ${row[1]}@${row[3]}`)
          }
          events.push(toEvent(row))
          size += row[4].length
          next += step
        }
        if (rows.length < wanted) return { events, atEnd: true, next }
      }
      return { events, atEnd: false, next }
    })
  }

  readAll(options: ReadAllOptions): Page {
    const ranges = nameRanges(options.streamPrefixes)
    if (ranges.length > maxPrefixes)
      throw new RangeError(`${ranges.length} stream prefixes; ${maxPrefixes} are the limit`)
    return this.#connection.read((statements) => {
      const end = statements.lastPosition.get() ?? 0
      const after = options.after === undefined ? 0 : Number(options.after.commit)
      if (after >= end) return { events: [], atEnd: true, ...checkpointAt(Math.max(after, end)) }
      const to = Math.min(after + scanWindow, end)
      const { events, at } = this.#collectBehind(statements, ranges, after, to, options.maxCount)
      return { events, atEnd: at === end, ...checkpointAt(at) }
    })
  }

  close(): void {
    this.#connection.close()
  }

  /** The events of a page, and how far the log has been looked at. */
  #collectBehind(
    statements: Statements,
    ranges: readonly NameRange[],
    after: number,
    to: number,
    maxCount: number,
  ): { readonly events: readonly RecordedEvent[]; readonly at: number } {
    if (ranges.length === 0) return { events: [], at: to }
    const filter = JSON.stringify(ranges)
    const { events, through } = this.#recent.behind(filter, after, maxCount)
    if (events.length === maxCount || through >= to) return { events, at: through }
    const found = collect(statements, ranges, through, to, maxCount - events.length)
    this.#recent.add(filter, found)
    return { events: events.length === 0 ? found.events : [...events, ...found.events], at: found.through }
  }
}

function prepared(db: Database): Statements {
  const ofStream = (where: string) =>
    db
      .prepare<[number, number, number], Row>(`SELECT ${columns} FROM events WHERE stream = ? AND ${where} LIMIT ?`)
      .raw()
  return {
    db,
    numbers: new StreamNumbers(db),
    ofStream: {
      forwards: ofStream('revision >= ? ORDER BY revision'),
      backwards: ofStream('revision <= ? ORDER BY revision DESC'),
    },
    lastPosition: db.prepare<[], number | null>('SELECT max(position) FROM events').pluck(),
    ofAll: new Map(),
  }
}

function collect(
  statements: Statements,
  ranges: readonly NameRange[],
  after: number,
  to: number,
  maxCount: number,
): Stretch {
  const statement = statementFor(statements, ranges)
  const names = ranges.flatMap(({ from, to }) => (to === undefined ? [from] : [from, to]))
  const events: RecordedEvent[] = []
  let at = after
  let size = 0
  while (events.length < maxCount && size < pageSize) {
    const wanted = Math.min(chunkRows, maxCount - events.length)
    const rows = statement.all(at, to, ...names, wanted)
    for (const row of rows) {
      events.push(toEvent(row))
      size += row[4].length
    }
    if (rows.length < wanted) return { after, through: to, events, size }
    at = rows.at(-1)?.[0] ?? to
  }
  return { after, through: at, events, size }
}

function statementFor({ db, ofAll }: Statements, ranges: readonly NameRange[]): Statement<(string | number)[], Row> {
  const where = ranges.map(({ to }) => (to === undefined ? 'name >= ?' : '(name >= ? AND name < ?)')).join(' OR ')
  const known = ofAll.get(where)
  if (known !== undefined) return known
  const statement = db
    .prepare<(string | number)[], Row>(
      `SELECT ${columns} FROM events WHERE position > ? AND position <= ? AND (${where}) ORDER BY position LIMIT ?`,
    )
    .raw()
  if (ofAll.size >= maxStatements) ofAll.clear()
  ofAll.set(where, statement)
  return statement
}

function toEvent(row: Row): RecordedEvent {
  const [id, type, data, metadata] = parse(row)
  const position = BigInt(row[0])
  return {
    id,
    type,
    data,
    metadata,
    stream: row[3],
    revision: row[1],
    position: { commit: position, prepare: position },
    recordedAtMs: row[2],
  }
}

function parse(row: Row): Body {
  const body = row[4]
  try {
    return typeof body === 'string' ? (JSON.parse(body) as Body) : foreign(body)
  } catch {
    throw new BrokenLogError(`position ${row[0]} (${row[1]}@${row[3]}) holds no JSON`)
  }
}

/** Written by a client of the protocol in a form the service does not use: what is no JSON object reads as an empty one. */
function foreign(body: Uint8Array): Body {
  const { id, type, isJson, data, metadata } = decodeBody(body)
  return [id, type, (isJson && parseObject(data)) || {}, parseObject(metadata) ?? {}]
}

function checkpointAt(position: number): { checkpoint?: Position } {
  if (position === 0) return {}
  const both = BigInt(position)
  return { checkpoint: { commit: both, prepare: both } }
}
