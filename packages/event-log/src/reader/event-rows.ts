import type { Database, Statement } from 'better-sqlite3'
import type { Direction, JsonObject, RecordedEvent } from '../event-log-types.js'
import { type Body, decodeBody, type EventContent, parseObject } from '../file/event-body.js'
import { BrokenLogError } from '../file/log-file.js'
import type { NameRange } from '../file/name-ranges.js'
import { StreamNumbers } from '../file/stream-numbers.js'

/** Rows fetched at a time. */
const chunkRows = 128
const maxStatements = 100
const columns = 'position, revision, recorded_at, name, body'
const order = { forwards: '', backwards: 'DESC' } as const

export type Row = [position: number, revision: number, recordedAtMs: number, name: string, body: Body]

/** An event as a client of the protocol sees it. */
export interface StoredEvent extends EventContent {
  readonly stream: string
  /** `tombstoneRevision` for the event that ended the stream. */
  readonly revision: number
  readonly position: number
  readonly recordedAtMs: number
}

export interface Statements {
  readonly db: Database
  readonly numbers: StreamNumbers
  readonly lastPosition: Statement<[], number | null>
  /** Revisions of a stream's last two events, the last one first. */
  readonly lastTwo: Statement<[stream: number], number>
  readonly event: Statement<[stream: number, revision: number], Row>
  readonly stream: {
    readonly [direction in Direction]: Statement<
      [stream: number, from: number, to: number, notBeforeMs: number, count: number],
      Row
    >
  }
  readonly names: Statement<[position: number, count: number], [position: number, stream: string]>
  readonly lastPlace: Statement<[stream: number], number>
  /** Positions from and to, names from and to of each range, count; by their text. */
  readonly all: Map<string, Statement<(string | number)[], Row>>
}

export function prepareStatements(db: Database): Statements {
  const rows = <P extends unknown[]>(where: string) =>
    db.prepare<P, Row>(`SELECT ${columns} FROM events WHERE ${where}`).raw()
  const shown = 'stream = ? AND revision BETWEEN ? AND ? AND recorded_at >= ? ORDER BY revision'
  return {
    db,
    numbers: new StreamNumbers(db),
    lastPosition: db.prepare<[], number | null>('SELECT max(position) FROM events').pluck(),
    lastTwo: db
      .prepare<[number], number>('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 2')
      .pluck(),
    event: rows('stream = ? AND revision = ?'),
    stream: {
      forwards: rows(`${shown} ${order.forwards} LIMIT ?`),
      backwards: rows(`${shown} ${order.backwards} LIMIT ?`),
    },
    names: db
      .prepare<[number, number], [number, string]>(
        'SELECT position, name FROM events WHERE position > ? ORDER BY position LIMIT ?',
      )
      .raw(),
    lastPlace: db
      .prepare<[number], number>('SELECT position FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1')
      .pluck(),
    all: new Map(),
  }
}

/** Rows of the whole log; those of all streams when there are no ranges. */
export function statementForAll(
  { db, all }: Statements,
  direction: Direction,
  ranges: readonly NameRange[],
): Statement<(string | number)[], Row> {
  const names = ranges.map(({ to }) => (to === undefined ? 'name >= ?' : '(name >= ? AND name < ?)')).join(' OR ')
  const where = `position BETWEEN ? AND ? ${names && `AND (${names})`} ORDER BY position ${order[direction]} LIMIT ?`
  const known = all.get(where)
  if (known !== undefined) return known
  const statement = db.prepare<(string | number)[], Row>(`SELECT ${columns} FROM events WHERE ${where}`).raw()
  if (all.size >= maxStatements) all.clear()
  all.set(where, statement)
  return statement
}

/** How much is read at once, and where. */
export interface Stretch {
  readonly direction: Direction
  /** The first place, included: a position or a revision. */
  readonly from: number
  readonly maxCount: number
  /** UTF-16 units or bytes of bodies after which a page ends. */
  readonly maxSize: number
}

export interface RowPage {
  readonly rows: readonly Row[]
  readonly size: number
  /** There are no more. */
  readonly atEnd: boolean
}

/** @param placeAt index of what is counted by `from` in a row */
export function readRows(
  { direction, from, maxCount, maxSize }: Stretch,
  placeAt: 0 | 1,
  fetch: (from: number, count: number) => readonly Row[],
): RowPage {
  const rows: Row[] = []
  let size = 0
  let at = from
  while (rows.length < maxCount && size < maxSize) {
    const wanted = Math.min(maxCount - rows.length, chunkRows)
    const chunk = fetch(at, wanted)
    for (const row of chunk) {
      rows.push(row)
      size += row[4].length
    }
    const last = chunk.at(-1)
    if (last === undefined || chunk.length < wanted) return { rows, size, atEnd: true }
    at = last[placeAt] + (direction === 'forwards' ? 1 : -1)
  }
  return { rows, size, atEnd: false }
}

export function toStored([position, revision, recordedAtMs, stream, body]: Row): StoredEvent {
  return { ...decodeBody(body), stream, revision, position, recordedAtMs }
}

/** As {@link toRecorded}, with all that is stored. Never throws. */
export function toRecordedAsStored(row: Row): RecordedEvent {
  const [position, revision, recordedAtMs, stream, body] = row
  const place = { commit: BigInt(position), prepare: BigInt(position) }
  // SQLite keeps any value in any column.
  const isPlace = Number.isSafeInteger(revision) && Number.isSafeInteger(recordedAtMs) && typeof stream === 'string'
  if (!isPlace) {
    const unread = { id: '', type: '', data: {}, metadata: {}, stream: String(stream), revision: 0, recordedAtMs: 0 }
    return { ...unread, position: place, stored: row.slice(1).flatMap(bytesOf) }
  }
  try {
    const event = toRecorded(row)
    if (JSON.stringify([event.id, event.type, event.data, event.metadata]) === body) return event
    return { ...event, stored: bytesOf(body) }
  } catch {
    const unread = { id: '', type: '', data: {}, metadata: {}, stream, revision, recordedAtMs }
    return { ...unread, position: place, stored: bytesOf(body) }
  }
}

/** A text and a blob of the same bytes are different values. */
function bytesOf(value: unknown): Uint8Array[] {
  const isBytes = value instanceof Uint8Array
  return [Buffer.from(isBytes ? 'blob' : typeof value), isBytes ? value : Buffer.from(String(value))]
}

/** @throws BrokenLogError */
export function toRecorded(row: Row): RecordedEvent {
  // By index: taking arrays apart by name costs a third more per event.
  const content = parse(row)
  const position = BigInt(row[0])
  return {
    id: content[0],
    type: content[1],
    data: content[2],
    metadata: content[3],
    stream: row[3],
    revision: row[1],
    position: { commit: position, prepare: position },
    recordedAtMs: row[2],
  }
}

function parse(row: Row): [id: string, type: string, data: JsonObject, metadata: JsonObject] {
  const body = row[4]
  try {
    return typeof body === 'string' ? JSON.parse(body) : foreign(body)
  } catch {
    throw new BrokenLogError(`position ${row[0]} (${row[1]}@${row[3]}) holds no JSON`)
  }
}

/** Written by a client of the protocol in a form the service does not use: what is no JSON object reads as an empty one. */
function foreign(body: Uint8Array): [string, string, JsonObject, JsonObject] {
  const { id, type, isJson, data, metadata } = decodeBody(body)
  return [id, type, (isJson && parseObject(data)) || {}, parseObject(metadata) ?? {}]
}
