import type { Database, Statement } from 'better-sqlite3'
import type { Direction, JsonObject, RecordedEvent } from '../event-log-types.js'
import { type Body, decodeBody, type EventContent, parseObject } from '../file/event-body.js'
import { BrokenLogError } from '../file/log-file.js'
import type { NameRange } from '../file/name-ranges.js'
import { toPosition } from '../file/positions.js'
import { StreamNumbers } from '../file/stream-numbers.js'

/** The number of rows per fetch. */
const chunkRows = 128
const maxStatements = 100
const columns = 'position, revision, recorded_at, name, body'
const order = { forwards: '', backwards: 'DESC' } as const

export type Row = [position: number, revision: number, recordedAtMs: number, name: string, body: Body]

/** An event as a client of the protocol sees it. */
export interface StoredEvent extends EventContent {
  readonly stream: string
  /** The event's revision; `tombstoneRevision` for the event that ended the stream. */
  readonly revision: number
  readonly position: number
  readonly recordedAtMs: number
}

export interface Statements {
  readonly db: Database
  readonly numbers: StreamNumbers
  readonly lastPosition: Statement<[], number | null>
  /** Returns the revisions of a stream's last two events, the last one first. */
  readonly lastTwo: Statement<[stream: number], number>
  readonly event: Statement<[stream: number, revision: number], Row>
  readonly stream: {
    readonly [direction in Direction]: Statement<
      [stream: number, from: number, to: number, notBeforeMs: number, count: number],
      Row
    >
  }
  readonly names: Statement<[position: number, count: number], [position: number, stream: string]>
  readonly lastPositionIn: Statement<[stream: number], number>
  /** The statements of {@link statementForAll} by their text. */
  readonly all: Map<string, Statement<(string | number)[], Row>>
}

export function prepareStatements(db: Database): Statements {
  const rows = <P extends unknown[]>(where: string) =>
    db.prepare<P, Row>(`SELECT ${columns} FROM events WHERE ${where}`).raw()
  const lastOf = <T>(column: string, count: number) =>
    db.prepare<[number], T>(`SELECT ${column} FROM events WHERE stream = ? ORDER BY revision DESC LIMIT ${count}`)
  const visible = 'stream = ? AND revision BETWEEN ? AND ? AND recorded_at >= ? ORDER BY revision'
  return {
    db,
    numbers: new StreamNumbers(db),
    lastPosition: db.prepare<[], number | null>('SELECT max(position) FROM events').pluck(),
    lastTwo: lastOf<number>('revision', 2).pluck(),
    event: rows('stream = ? AND revision = ?'),
    stream: {
      forwards: rows(`${visible} ${order.forwards} LIMIT ?`),
      backwards: rows(`${visible} ${order.backwards} LIMIT ?`),
    },
    names: db
      .prepare<[number, number], [number, string]>(
        'SELECT position, name FROM events WHERE position > ? ORDER BY position LIMIT ?',
      )
      .raw(),
    lastPositionIn: lastOf<number>('position', 1).pluck(),
    all: new Map(),
  }
}

/**
 * Returns the statement that reads rows of the whole log, or only of the ranges if there are any. Its parameters are the first and
 * last position, the bounds of each range, and the number of rows.
 */
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

/** The part of the log or of a stream that a read covers. */
export interface ReadRange {
  readonly direction: Direction
  /** The first position or revision, inclusive. */
  readonly from: number
  readonly maxCount: number
  /** The total size of bodies, in UTF-16 units or bytes, at which a page ends. */
  readonly maxSize: number
}

export interface RowPage {
  readonly rows: readonly Row[]
  readonly size: number
  /** Whether there are no more rows. */
  readonly atEnd: boolean
}

/** @param key The column to which `from` refers: 0 for the position, 1 for the revision. */
export function readRows(
  { direction, from, maxCount, maxSize }: ReadRange,
  key: 0 | 1,
  fetch: (from: number, count: number) => readonly Row[],
): RowPage {
  const rows: Row[] = []
  let size = 0
  let next = from
  while (rows.length < maxCount && size < maxSize) {
    const count = Math.min(maxCount - rows.length, chunkRows)
    const chunk = fetch(next, count)
    for (const row of chunk) {
      rows.push(row)
      size += row[4].length
    }
    const last = chunk.at(-1)
    if (last === undefined || chunk.length < count) return { rows, size, atEnd: true }
    next = last[key] + (direction === 'forwards' ? 1 : -1)
  }
  return { rows, size, atEnd: false }
}

export function toStored([position, revision, recordedAtMs, stream, body]: Row): StoredEvent {
  return { ...decodeBody(body), stream, revision, position, recordedAtMs }
}

/** Converts a row like {@link toRecorded} and adds stored bytes that the event would not show. Never throws. */
export function toRecordedWithStored(row: Row): RecordedEvent {
  const [position, revision, recordedAtMs, stream, body] = row
  const unreadable = () => ({ id: '', type: '', data: {}, metadata: {}, position: toPosition(position) })
  // SQLite stores any value in any column.
  if (!Number.isSafeInteger(revision) || !Number.isSafeInteger(recordedAtMs) || typeof stream !== 'string') {
    const stored = row.slice(1).flatMap(bytesOf)
    return { ...unreadable(), stream: String(stream), revision: 0, recordedAtMs: 0, stored }
  }
  try {
    const event = toRecorded(row)
    if (JSON.stringify([event.id, event.type, event.data, event.metadata]) === body) return event
    return { ...event, stored: bytesOf(body) }
  } catch {
    return { ...unreadable(), stream, revision, recordedAtMs, stored: bytesOf(body) }
  }
}

/** Returns the type and the bytes of a value, because a text and a blob of the same bytes differ. */
function bytesOf(value: unknown): Uint8Array[] {
  const isBytes = value instanceof Uint8Array
  return [Buffer.from(isBytes ? 'blob' : typeof value), isBytes ? value : Buffer.from(String(value))]
}

/** @throws BrokenLogError */
export function toRecorded(row: Row): RecordedEvent {
  // Access the values by index: destructuring costs a third more per event.
  const content = parse(row)
  return {
    id: content[0],
    type: content[1],
    data: content[2],
    metadata: content[3],
    stream: row[3],
    revision: row[1],
    position: toPosition(row[0]),
    recordedAtMs: row[2],
  }
}

function parse(row: Row): [id: string, type: string, data: JsonObject, metadata: JsonObject] {
  const body = row[4]
  try {
    return typeof body === 'string' ? JSON.parse(body) : parseBlob(body)
  } catch {
    throw new BrokenLogError(`position ${row[0]} (${row[1]}@${row[3]}) contains no JSON`)
  }
}

/** Parses an event that a client of the protocol wrote as a blob. Content that is not a JSON object becomes an empty object. */
function parseBlob(body: Uint8Array): [string, string, JsonObject, JsonObject] {
  const { id, type, isJson, data, metadata } = decodeBody(body)
  return [id, type, (isJson && parseObject(data)) || {}, parseObject(metadata) ?? {}]
}
