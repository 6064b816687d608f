import type { Database, Statement } from '../sqlite/sqlite.js'
import type { Body } from './event-body.js'
import { metadataText, nameOfKey, type ReservedKeys, reservedKeys, reservingMetadata } from './reserved-keys.js'
import { streamHash } from './stream-hash.js'
import { tombstoneRevision } from './stream-metadata.js'

const rowsPerStatement = 16

type Value = string | number | Uint8Array

/** Inserts sixteen rows per statement. With one row per statement, an event costs a third more. */
export class RowInserter<Row extends readonly Value[]> {
  readonly #columns: number
  readonly #one: Statement<[readonly Value[]]>
  readonly #many: Statement<[readonly Value[]]>
  #values: Value[] = []

  /** @param insertInto The statement up to VALUES. */
  constructor(db: Database, insertInto: string, columns: Row['length']) {
    this.#columns = columns
    const row = `(${Array(columns).fill('?')})`
    this.#one = db.prepare<[readonly Value[]]>(`${insertInto} VALUES ${row}`)
    this.#many = db.prepare<[readonly Value[]]>(`${insertInto} VALUES ${Array(rowsPerStatement).fill(row)}`)
  }

  /** Adds a row. It may stay out of the table until {@link flush}. */
  add(...row: Row): void {
    this.#values.push(...row)
    if (this.#values.length < rowsPerStatement * this.#columns) return
    this.#many.run(this.#values)
    this.#values = []
  }

  flush(): void {
    for (let i = 0; i < this.#values.length; i += this.#columns) {
      this.#one.run(this.#values.slice(i, i + this.#columns))
    }
    this.#values = []
  }
}

/**
 * The offset added to the hash of a recent name, so that all rows of recent names are adjacent, on few pages, after all others. A
 * program without support for recent names ignores these rows and reads the names after `indexed_through` from the log.
 */
export const recentKeys = 2 ** 48
/** The key of the row with the last stream whose name is merged, either as a recent name or by its hash alone. */
export const mergedThroughKey = 2 ** 49

/**
 * Finds a stream's number by its name. Names are random, so inserting each one into an index on disk dirties a page per stream,
 * which halves the throughput. Therefore the names of the youngest streams stay in memory, read from the log when it is opened, and
 * are merged in batches in the index's order: first into the small index of recent names, whose pages each batch shares, and from
 * there, when it is large, into the whole index ({@link StreamNameMerge}).
 */
export class StreamNumbers {
  /** The names of the streams after `#mergedThrough`, oldest first, and the keys that they reserve. */
  readonly #young = new Map<string, number>()
  #mergedThrough = 0
  #indexedThrough = 0
  /** The highest known stream number. */
  #last = 0
  readonly #byKey: Statement<[number], number>
  readonly #nameOf: Statement<[number], string>
  readonly #younger: Statement<[number], [number, string, metadata: string | null]>
  readonly #firstEvent: Statement<[number], [name: string, metadata: string | null]>
  readonly #readState: Statement<[], [indexedThrough: number, mergedThrough: number | null]>

  /** @param withKeys whether the reserved keys are found too; only writers look for them */
  constructor(db: Database, withKeys = false) {
    this.#byKey = db.prepare<[number], number>('SELECT stream FROM stream_names WHERE hash = ?').pluck()
    this.#nameOf = db
      .prepare<[number], string>('SELECT name FROM events WHERE stream = ? ORDER BY revision LIMIT 1')
      .pluck()
    this.#firstEvent = db
      .prepare<[number], [string, string | null]>(
        `SELECT name, ${metadataText} FROM events WHERE stream = ? AND revision = 0`,
      )
      .raw()
    // The first event of a stream, or its tombstone, which may be its only event.
    this.#younger = db
      .prepare<[number], [number, string, string | null]>(
        `SELECT stream, name, ${withKeys ? reservingMetadata : 'NULL'} FROM events INDEXED BY events_by_stream
         WHERE stream > ? AND revision IN (0, ${tombstoneRevision})`,
      )
      .raw()
    this.#readState = db
      .prepare<[], [number, number | null]>(
        `SELECT indexed_through, (SELECT max(stream) FROM stream_names WHERE hash = ${mergedThroughKey}) FROM log_state`,
      )
      .raw()
  }

  get last(): number {
    return this.#last
  }

  get mergedThrough(): number {
    return this.#mergedThrough
  }

  get indexedThrough(): number {
    return this.#indexedThrough
  }

  get youngCount(): number {
    return this.#young.size
  }

  /** Reads the streams that other connections added. Call it in a transaction, or lookups may miss a stream that is being merged. */
  refresh(): void {
    const state = this.#readState.get()
    if (state === undefined) throw new Error('the state row of the event log is missing')
    const [indexedThrough, mergedThrough] = state
    this.markIndexed(indexedThrough)
    if (mergedThrough !== null) this.markMerged(mergedThrough)
    for (const [number, name, metadata] of this.#younger.iterate(this.#last))
      this.add(name, number, metadata === null ? [] : reservedKeys(name, metadata)?.keys)
  }

  /** @param keys The keys that the stream reserves. */
  add(name: string, number: number, keys: readonly string[] = []): void {
    this.#young.set(name, number)
    for (const key of keys) this.#young.set(nameOfKey(key), number)
    this.#last = number
  }

  /** Records that the names of all streams up to this one are on disk. */
  markMerged(through: number): void {
    this.#mergedThrough = Math.max(this.#mergedThrough, through)
    this.#last = Math.max(this.#last, through)
    for (const [name, number] of this.#young) {
      if (number > through) return
      this.#young.delete(name)
    }
  }

  /** Records that the names of all streams up to this one are in the index by their hash alone. */
  markIndexed(through: number): void {
    this.#indexedThrough = Math.max(this.#indexedThrough, through)
    this.markMerged(through)
  }

  find(name: string): number | undefined {
    const young = this.#young.get(name)
    if (young !== undefined) return young
    if (this.#mergedThrough === 0) return undefined
    const hash = streamHash(name)
    // The order matters: a concurrent merge may move a recent name to the whole index, but never in the other direction.
    return this.#findAt(hash + recentKeys, name) ?? this.#findAt(hash, name)
  }

  /** Returns the owner of a reserved key. @param beforeRead Called before the events of streams are read. */
  ownerOf(key: string, beforeRead?: () => void): string | undefined {
    const streams = this.#streamsOf(nameOfKey(key))
    if (streams.length > 0) beforeRead?.()
    for (const stream of streams) {
      const [name, metadata] = this.#firstEvent.get(stream) ?? []
      // A damaged event keeps its keys.
      if (name !== undefined && metadata === null) return name
      const reserved = name !== undefined && metadata ? reservedKeys(name, metadata) : undefined
      if (reserved?.keys.includes(key)) return reserved.owner
    }
    return undefined
  }

  /** Returns the streams that this can be a name of, because its hash is theirs. */
  #streamsOf(name: string): readonly number[] {
    const young = this.#young.get(name)
    if (young !== undefined) return [young]
    if (this.#mergedThrough === 0) return none
    const hash = streamHash(name)
    return [...this.#byKey.all(hash + recentKeys), ...this.#byKey.all(hash)]
  }

  young(): Iterable<[name: string, stream: number]> {
    return this.#young
  }

  #findAt(key: number, name: string): number | undefined {
    const first = this.#byKey.get(key)
    if (first === undefined) return undefined
    if (this.#nameOf.get(first) === name) return first
    return this.#byKey.all(key).find((number) => this.#nameOf.get(number) === name)
  }
}

/** Finds a stream's number on a connection without an open transaction. */
export function findStream(db: Database, numbers: StreamNumbers, name: string): number | undefined {
  // Use one snapshot: otherwise a merge could move a stream to the index after the index was searched.
  const refreshAndFind = () => {
    numbers.refresh()
    return numbers.find(name)
  }
  return numbers.find(name) ?? db.transaction(refreshAndFind)()
}

interface MergeSizes {
  /** The number of young streams that become recent. Every thread holds them in memory, and every process reads them at its start. */
  readonly recentAt: number
  /** The number of recent streams that move to the whole index. Then, with ten million streams, each page receives a dozen names. */
  readonly indexedAt: number
  /**
   * The number of these names that one commit merges, because merging all of them would block the writer. If there are more names, a
   * commit merges proportionally more: otherwise a merge would never end when each commit adds thousands of streams.
   */
  readonly namesPerStep: number
}

const mergeSizes: MergeSizes = { recentAt: 8_192, indexedAt: 262_144, namesPerStep: 1_024 }

type OnCommit = () => void

/** Writes the names of young streams to disk, a few per call, within the caller's transactions. */
class StreamNameMerge {
  readonly #rows: RowInserter<[key: number, stream: number]>
  readonly #setMergedThrough: Statement<[number]>
  readonly #dropMergedThrough: Statement<[number]>
  readonly #setIndexedThrough: Statement<[number, number]>
  readonly #index: Statement<[from: number, to: number, through: number]>
  readonly #dropIndexed: Statement<[from: number, to: number, through: number]>
  /** The remaining parts of the young names that are becoming recent, in reverse order of the index. */
  #parts: [key: number, stream: number][][] = []
  #partsThrough = 0
  /** The recent names that are being indexed: the last stream, the number of hash ranges, and how many of them are done. */
  #indexing: { readonly through: number; readonly ranges: number; done: number } | undefined

  constructor(
    db: Database,
    private readonly numbers: StreamNumbers,
    private readonly sizes: MergeSizes = mergeSizes,
  ) {
    // OR IGNORE, because after a crash, or concurrently with a different process, a merge restarts with names that already exist.
    this.#rows = new RowInserter(db, 'INSERT OR IGNORE INTO stream_names', 2)
    this.#setMergedThrough = db.prepare<[number]>(`INSERT OR IGNORE INTO stream_names VALUES (${mergedThroughKey}, ?)`)
    this.#dropMergedThrough = db.prepare<[number]>(
      `DELETE FROM stream_names WHERE hash = ${mergedThroughKey} AND stream < ?`,
    )
    this.#setIndexedThrough = db.prepare<[number, number]>(
      'UPDATE log_state SET indexed_through = ? WHERE indexed_through < ?',
    )
    const inRange = 'FROM stream_names WHERE hash >= ? AND hash < ? AND stream <= ?'
    this.#index = db.prepare<[number, number, number]>(
      `INSERT OR IGNORE INTO stream_names SELECT hash - ${recentKeys}, stream ${inRange}`,
    )
    this.#dropIndexed = db.prepare<[number, number, number]>(`DELETE ${inRange}`)
  }

  /**
   * Merges the next names. Call it in a transaction before the first append: only committed streams may enter the index. Call the
   * returned function after the commit.
   */
  step(): OnCommit {
    const steps = [this.#mergeYoung(), this.#indexRecent()]
    return () => {
      for (const onCommit of steps) onCommit?.()
    }
  }

  #mergeYoung(): OnCommit | undefined {
    // Stop if a different process has merged them.
    if (this.numbers.mergedThrough >= this.#partsThrough) this.#parts = []
    if (this.#parts.length === 0) {
      if (this.numbers.youngCount < this.sizes.recentAt) return undefined
      this.#collect()
    }
    for (const [key, stream] of this.#parts.at(-1)!) this.#rows.add(key, stream)
    this.#rows.flush()
    const through = this.#parts.length === 1 ? this.#partsThrough : 0
    if (through > 0) {
      this.#setMergedThrough.run(through)
      this.#dropMergedThrough.run(through)
    }
    return () => {
      this.#parts.pop()
      this.numbers.markMerged(through)
    }
  }

  #collect(): void {
    const names: [key: number, stream: number][] = []
    for (const [name, stream] of this.numbers.young()) {
      names.push([streamHash(name) + recentKeys, stream])
      this.#partsThrough = stream
    }
    names.sort((a, b) => b[0] - a[0])
    const { recentAt, namesPerStep } = this.sizes
    const partLength = Math.ceil((names.length * namesPerStep) / recentAt)
    for (let from = 0; from < names.length; from += partLength)
      this.#parts.push(names.slice(from, from + partLength).reverse())
  }

  #indexRecent(): OnCommit | undefined {
    const { mergedThrough, indexedThrough } = this.numbers
    const { indexedAt, namesPerStep } = this.sizes
    if (this.#indexing && indexedThrough >= this.#indexing.through) this.#indexing = undefined
    if (!this.#indexing && mergedThrough - indexedThrough < indexedAt) return undefined
    this.#indexing ??= { through: mergedThrough, ranges: Math.ceil(indexedAt / namesPerStep), done: 0 }
    const indexing = this.#indexing
    const { through } = indexing
    const startOf = (range: number) => recentKeys + Math.floor((range / indexing.ranges) * recentKeys)
    const [from, to] = [startOf(indexing.done), startOf(indexing.done + 1)]
    this.#index.run(from, to, through)
    this.#dropIndexed.run(from, to, through)
    const isLast = indexing.done + 1 === indexing.ranges
    if (isLast) this.#setIndexedThrough.run(through, through)
    return () => {
      indexing.done++
      if (isLast) this.numbers.markIndexed(through)
    }
  }
}

const none: readonly number[] = []

type EventRow = [position: number, stream: number, revision: number, recordedAtMs: number, name: string, body: Body]

/** Runs one transaction at a time on a writer's connection. It never rolls back: after a failure, the connection is replaced. */
export class LogTransaction {
  readonly numbers: StreamNumbers
  /** The position of the last event, including the events of the current transaction. */
  position = -1
  /** The start time of the current transaction, recorded with its events. */
  nowMs = 0
  readonly #rows: RowInserter<EventRow>
  readonly #merge: StreamNameMerge
  readonly #lastPosition: Statement<[], number | null>
  readonly #commit: Statement<[]>
  #onMergeCommitted: (() => void) | undefined
  readonly #flush = () => this.flush()

  constructor(db: Database, sizes?: MergeSizes) {
    this.numbers = new StreamNumbers(db, true)
    this.#rows = new RowInserter(db, 'INSERT INTO events', 6)
    this.#merge = new StreamNameMerge(db, this.numbers, sizes)
    this.#lastPosition = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck()
    this.#commit = db.prepare<[]>('COMMIT')
  }

  /** Prepares a transaction. Call it after BEGIN IMMEDIATE, because another process may have appended in the meantime. */
  begin(nowMs: number): void {
    this.nowMs = nowMs
    const position = this.#lastPosition.get() ?? 0
    if (position !== this.position) this.numbers.refresh()
    this.position = position
    this.#onMergeCommitted = this.#merge.step()
  }

  /** Returns whether one of the keys belongs to a different owner. */
  isReserved({ keys, owner }: ReservedKeys): boolean {
    return keys.some((key) => (this.numbers.ownerOf(key, this.#flush) ?? owner) !== owner)
  }

  /**
   * Appends events to a stream and assigns a number to a new stream, which the keys then name too. Statements see the events after
   * {@link flush}.
   */
  write(
    name: string,
    number: number | undefined,
    firstRevision: number,
    bodies: readonly Body[],
    keys?: readonly string[],
  ): void {
    if (bodies.length === 0) return
    const stream = number ?? this.#addStream(name, keys)
    let { position } = this
    let revision = firstRevision
    for (const body of bodies) this.#rows.add(++position, stream, revision++, this.nowMs, name, body)
    this.position = position
  }

  flush(): void {
    this.#rows.flush()
  }

  /** Commits durably and returns the position of the last event. */
  commit(): number {
    this.#rows.flush()
    this.#commit.run()
    this.#onMergeCommitted?.()
    return this.position
  }

  #addStream(name: string, keys: readonly string[] | undefined): number {
    const number = this.numbers.last + 1
    this.numbers.add(name, number, keys)
    return number
  }
}
