import type { Direction, RecordedEvent, UnparsedEvent } from '../event-log-types.js'
import {
  type Body,
  bodyOf,
  bytesOfBody,
  damagedType,
  decodeBody,
  isIntact,
  parseBody,
  startsWithId,
  toPosition,
} from '../file/event-body.js'
import { isTime } from '../file/log-file.js'
import { StreamNumbers } from '../file/stream-numbers.js'
import type { Database, Statement } from '../sqlite/sqlite.js'
import type { StoredEvent } from './stored-event.js'

/** A range of names in the order of their UTF-8 bytes, from `from` (inclusive) to `to` (exclusive) or to the end. */
export interface NameRange {
  readonly from: string
  readonly to?: string
}

const notSystem: readonly NameRange[] = [{ from: '', to: '$' }, { from: '%' }]

/**
 * Returns the ranges of stream names that a read covers. They include system streams (`$…`) only if a prefix requests them. A list
 * without a prefix matches nothing, as in EventStoreDB.
 */
export function nameRanges(streamPrefixes: readonly string[] | undefined): readonly NameRange[] {
  if (streamPrefixes === undefined || streamPrefixes.includes('')) {
    const system = (streamPrefixes ?? []).filter((prefix) => prefix.startsWith('$'))
    return [...notSystem, ...system.map(rangeOf)]
  }
  return streamPrefixes.map(rangeOf)
}

function rangeOf(prefix: string): NameRange {
  if (/\p{Surrogate}/u.test(prefix)) throw new TypeError('a stream prefix must be well-formed text')
  const to = successor(prefix)
  return to === undefined ? { from: prefix } : { from: prefix, to }
}

/** Returns the smallest text that follows every text with this prefix. */
function successor(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === 0x10ffff) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  // Well-formed text contains no surrogates.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}

/** The number of rows per fetch. */
const chunkRows = 128
const maxStatements = 100
const columns = 'position, revision, recorded_at, name, body'
const order = { forwards: '', backwards: 'DESC' } as const

type Row = [position: number, revision: number, recordedAtMs: number, name: string, body: Body]

export interface Statements {
  readonly db: Database
  readonly numbers: StreamNumbers
  readonly begin: Statement<[]>
  readonly commit: Statement<[]>
  readonly lastPosition: Statement<[], number | null>
  /** Returns the revisions of a stream's last two events, the last one first. */
  readonly lastTwo: Statement<[stream: number], number>
  readonly event: Statement<[stream: number, revision: number], Row>
  /** Returns the events at the positions of a JSON array. */
  readonly positions: Statement<[positions: string], Row>
  readonly stream: {
    readonly [direction in Direction]: Statement<
      [stream: number, from: number, to: number, notBeforeMs: number, count: number],
      Row
    >
  }
  /** Returns the places of a stream's events. It reads only the index. */
  readonly places: Statement<[stream: number, from: number, count: number], [position: number, revision: number]>
  readonly names: Statement<[position: number, count: number], [position: number, stream: string]>
  readonly lastPositionIn: Statement<[stream: number], number>
  /** Returns the bytes of a body as SQLite stores them. */
  readonly bytes: Statement<[position: number], Uint8Array | null>
  /** The statements of {@link statementForAll} by their text. */
  readonly all: Map<string, Statement<(string | number)[], Row>>
}

export function prepareStatements(db: Database): Statements {
  const rows = <P extends unknown[]>(where: string) =>
    db.prepare<P, Row>(`SELECT ${columns} FROM events WHERE ${where}`).raw()
  const lastOf = <T>(column: string, count: number) =>
    db.prepare<[number], T>(`SELECT ${column} FROM events WHERE stream = ? ORDER BY revision DESC LIMIT ${count}`)
  // With a bare parameter as the limit, SQLite would compile the statement again at each execution, which takes four times as long as the read.
  const visible = 'stream = ? AND revision BETWEEN ? AND ? AND recorded_at >= ? ORDER BY revision'
  return {
    db,
    numbers: new StreamNumbers(db),
    begin: db.prepare<[]>('BEGIN'),
    commit: db.prepare<[]>('COMMIT'),
    lastPosition: db.prepare<[], number | null>('SELECT max(position) FROM events').pluck(),
    lastTwo: lastOf<number>('revision', 2).pluck(),
    event: rows('stream = ? AND revision = ?'),
    positions: rows('position IN (SELECT value FROM json_each(?))'),
    stream: {
      forwards: rows(`${visible} ${order.forwards} LIMIT +?`),
      backwards: rows(`${visible} ${order.backwards} LIMIT +?`),
    },
    places: db
      .prepare<[number, number, number], [number, number]>(
        'SELECT position, revision FROM events WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT +?',
      )
      .raw(),
    names: db
      .prepare<[number, number], [number, string]>(
        'SELECT position, name FROM events WHERE position > ? ORDER BY position LIMIT +?',
      )
      .raw(),
    lastPositionIn: lastOf<number>('position', 1).pluck(),
    bytes: db.prepare<[number], Uint8Array | null>(bytesOfBody).pluck(),
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
  const where = `position BETWEEN ? AND ? ${names && `AND (${names})`} ORDER BY position ${order[direction]} LIMIT +?`
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
  statements: Statements,
  { direction, from, maxCount, maxSize }: ReadRange,
  key: 0 | 1,
  fetch: (from: number, count: number) => readonly Row[],
): RowPage {
  const rows: Row[] = []
  let size = 0
  let next = from
  while (rows.length < maxCount && size < maxSize) {
    const count = Math.min(maxCount - rows.length, chunkRows)
    const chunk = withBodies(statements, fetch(next, count))
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
  // Copy the content by name: spreading it takes four times as long as decoding it.
  const { id, type, isJson, data, metadata } = decodeBody(body)
  return { id, type, isJson, data, metadata, stream, revision, position, recordedAtMs }
}

/** Replaces the bodies of the rows that are neither text in UTF-8 nor bytes, which only damage causes, by the stored bytes. */
export function withBodies(statements: Statements, rows: readonly Row[]): readonly Row[] {
  for (const row of rows) if (!isIntact(row[4])) row[4] = bodyOf(row[4], () => statements.bytes.get(row[0]) ?? null)
  return rows
}

/** Converts a row without parsing its text. Never throws. */
export function toUnparsed(row: Row): UnparsedEvent {
  const [at, revision, recordedAtMs, stream, body] = row
  const position = toPosition(at)
  if (!hasPlace(row)) {
    // The revision is kept, because the next event of the stream follows it, and the id, by which an operator skips the event.
    const place = { stream: String(stream), revision: Number.isSafeInteger(revision) ? revision : 0, position }
    const bytes = [Buffer.from(decodeBody(body).id), ...row.slice(1).flatMap(bytesOf)]
    return { ...place, recordedAtMs: 0, bytes }
  }
  const place = { stream, revision, position, recordedAtMs }
  return isText(body) ? { ...place, text: body } : { ...place, bytes: partsOf(body) }
}

/** Returns whether the columns have their types. SQLite stores any value in any column. */
function hasPlace([, revision, recordedAtMs, stream]: Row): boolean {
  return Number.isSafeInteger(revision) && isTime(recordedAtMs) && typeof stream === 'string'
}

function isText(body: Body): body is string {
  return typeof body === 'string' && startsWithId(body)
}

/** Returns the parts of an event that is not stored as text. */
function partsOf(body: Body): readonly Uint8Array[] {
  const { id, type, isJson, data, metadata } = decodeBody(body)
  return [Buffer.from(id), Buffer.from(type), Buffer.from(isJson ? 'json' : 'binary'), data, metadata]
}

/** Returns the type and the bytes of a value, because a text and a blob of the same bytes differ. */
function bytesOf(value: unknown): Uint8Array[] {
  const isBytes = value instanceof Uint8Array
  return [Buffer.from(isBytes ? 'blob' : typeof value), isBytes ? value : Buffer.from(String(value))]
}

/** Converts a row. Never throws. */
export function toRecorded(row: Row): RecordedEvent {
  // Access the values by index: destructuring costs a third more per event.
  const body = row[4]
  const content = parseBody(body)
  // Every event that could be parsed starts with its id.
  const hasText = typeof body === 'string' && (content[1] !== damagedType || isText(body))
  if (!hasPlace(row)) return { ...toUnparsed(row), id: content[0], type: damagedType, data: content[2], metadata: {} }
  const event = {
    id: content[0],
    type: content[1],
    data: content[2],
    metadata: content[3],
    stream: row[3],
    revision: row[1],
    position: toPosition(row[0]),
    recordedAtMs: row[2],
    text: hasText ? body : undefined,
  }
  return event.text === undefined ? { ...event, bytes: partsOf(body) } : event
}

/** The number of events to keep. Subscribers of the same streams stay within a page or two of each other. */
const maxEvents = 2_000
/** The size to keep for each filter, in UTF-16 units. Parsed events need several times as much. */
const maxSize = 2 * 1024 * 1024
/** The number of scans to keep. A scan without events counts too: it records that there were none. */
const maxScans = 200
const maxFilters = 4
/** The number of reads for others with a filter whose own readers do not read. */
const maxLent = 100

/** The events that one read of the log found after `after`, up to and including `through`. */
interface Scan {
  readonly after: number
  readonly through: number
  readonly events: readonly RecordedEvent[]
  /** The size in UTF-16 units. */
  readonly size: number
}

/**
 * The events that a thread read last, for each filter. Reading and parsing an event costs as much as handling it, and subscribers of
 * the same streams stay close to each other, so the first one reads and the others share its events. They never become outdated,
 * because the log only grows.
 */
export class RecentEvents {
  /** The scans of each filter, without gaps, oldest first. */
  readonly #scans = new Map<string, Scan[]>()
  /** How often each filter was lent to other readers since its own readers last read. */
  readonly #lent = new Map<string, number>()

  /** Returns at most `maxCount` known events after `after`, and the position up to which they are known. */
  after(filter: string, after: number, maxCount: number): { events: RecordedEvent[]; through: number } {
    const events: RecordedEvent[] = []
    let through = after
    for (const scan of this.#scans.get(filter) ?? []) {
      if (through < scan.after || through >= scan.through) continue
      for (const event of scan.events) {
        if (Number(event.position.commit) <= through) continue
        if (events.length === maxCount) return { events, through: Number(events.at(-1)?.position.commit ?? after) }
        events.push(event)
      }
      through = scan.through
    }
    return { events, through }
  }

  /**
   * Returns the ranges of a wider filter whose events around `after` are known. A read with the wider filter reads and parses each
   * event once for the readers of both filters.
   */
  findWider(ranges: readonly NameRange[], after: number): readonly NameRange[] | undefined {
    const own = filterOf(ranges)
    this.#lent.delete(own)
    for (const [filter, scans] of this.#scans) {
      const lent = this.#lent.get(filter) ?? 0
      const [oldest, newest] = [scans[0], scans.at(-1)]
      if (filter === own || lent >= maxLent || !oldest || !newest) continue
      if (after < oldest.after || after > newest.through) continue
      const others: readonly NameRange[] = JSON.parse(filter)
      if (!ranges.every(({ from, to }) => others.some((other) => other.from === from && other.to === to))) continue
      this.#lent.set(filter, lent + 1)
      return others
    }
    return undefined
  }

  add(filter: string, scan: Scan): void {
    const scans = this.#scans.get(filter) ?? []
    const known = scans.at(-1)?.through ?? 0
    // Ignore a reader that is far behind: its events would displace those that the other readers need next.
    if (scan.after < known) return
    if (scan.after > known) scans.length = 0
    scans.push(scan)
    while (isTooLarge(scans)) scans.shift()
    if (!this.#scans.has(filter) && this.#scans.size === maxFilters) this.#scans.clear()
    this.#scans.set(filter, scans)
  }
}

export function filterOf(ranges: readonly NameRange[]): string {
  return JSON.stringify(ranges)
}

function isTooLarge(scans: readonly Scan[]): boolean {
  let count = 0
  let size = 0
  for (const scan of scans) {
    count += scan.events.length
    size += scan.size
  }
  return scans.length > maxScans || count > maxEvents || size > maxSize
}
