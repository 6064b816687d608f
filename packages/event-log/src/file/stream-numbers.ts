import type { Database, Statement } from 'better-sqlite3'
import { RowInserter } from './row-inserter.js'
import { streamHash } from './stream-hash.js'
import { tombstoneRevision } from './stream-metadata.js'

/** Streams that the index on names lacks before they are merged into it. */
const mergeAt = 65_536
/** Each commit merges one bucket: all at once would block the writer for 150 ms. */
const bucketCount = 64
const hashesPerBucket = 2 ** 48 / bucketCount

/**
 * Finds a stream's number by its name. Names are random, and inserting them one by one into an index on disk dirties a
 * page per stream, which alone halves the throughput. So the names of the youngest streams are held in memory (read
 * from the log when it is opened) and are merged into the index thousands at a time, in its order.
 */
export class StreamNumbers {
  /** Names of the streams behind `#indexedThrough`, oldest first. */
  readonly #young = new Map<string, number>()
  #indexedThrough = 0
  /** The highest stream number known here. */
  #last = 0
  readonly #byHash: Statement<[number], number>
  readonly #nameOf: Statement<[number], string>
  readonly #younger: Statement<[number], [number, string]>
  readonly #readIndexedThrough: Statement<[], number>

  constructor(db: Database) {
    this.#byHash = db.prepare<[number], number>('SELECT stream FROM stream_names WHERE hash = ?').pluck()
    this.#nameOf = db
      .prepare<[number], string>('SELECT name FROM events WHERE stream = ? ORDER BY revision LIMIT 1')
      .pluck()
    // The first event of a stream, or the one that ended it: it may be the only one.
    this.#younger = db
      .prepare<[number], [number, string]>(
        `SELECT stream, name FROM events INDEXED BY events_by_stream
         WHERE stream > ? AND revision IN (0, ${tombstoneRevision})`,
      )
      .raw()
    this.#readIndexedThrough = db.prepare<[], number>('SELECT indexed_through FROM log_state').pluck()
  }

  get last(): number {
    return this.#last
  }

  get indexedThrough(): number {
    return this.#indexedThrough
  }

  get youngCount(): number {
    return this.#young.size
  }

  /** Reads what other connections added. Call it inside a transaction, or lookups may miss a stream that is being merged. */
  refresh(): void {
    const indexedThrough = this.#readIndexedThrough.get()
    if (indexedThrough === undefined) throw new Error('the event log has lost its state row')
    this.indexed(indexedThrough)
    for (const [number, name] of this.#younger.iterate(this.#last)) this.add(name, number)
  }

  add(name: string, number: number): void {
    this.#young.set(name, number)
    this.#last = number
  }

  /** The index on disk now covers the streams up to this one. */
  indexed(through: number): void {
    this.#indexedThrough = through
    this.#last = Math.max(this.#last, through)
    for (const [name, number] of this.#young) {
      if (number > through) return
      this.#young.delete(name)
    }
  }

  find(name: string): number | undefined {
    const young = this.#young.get(name)
    if (young !== undefined) return young
    if (this.#indexedThrough === 0) return undefined
    const hash = streamHash(name)
    const first = this.#byHash.get(hash)
    if (first === undefined) return undefined
    if (this.#nameOf.get(first) === name) return first
    return this.#byHash.all(hash).find((number) => this.#nameOf.get(number) === name)
  }

  *young(): Iterable<[string, number]> {
    yield* this.#young
  }
}

/** A stream's number, on a connection outside a transaction. */
export function findStream(db: Database, numbers: StreamNumbers, name: string): number | undefined {
  // In one snapshot: otherwise a merge may move a stream into the index after the index was searched.
  const findYoung = () => {
    numbers.refresh()
    return numbers.find(name)
  }
  return numbers.find(name) ?? db.transaction(findYoung)()
}

/** Brings the names of young streams into the index, a bucket with each call, inside the caller's transactions. */
export class StreamNameMerge {
  readonly #numbers: StreamNumbers
  readonly #rows: RowInserter<[hash: number, stream: number]>
  readonly #setIndexedThrough: Statement<[number, number]>
  /** What is left of the merge under way; the hashes of a bucket with their streams. */
  #buckets: [number, number][][] = []
  #through = 0

  constructor(db: Database, numbers: StreamNumbers) {
    this.#numbers = numbers
    // Ignore: after a crash, or beside another process, a merge begins again with names that are there already.
    this.#rows = new RowInserter(db, 'INSERT OR IGNORE INTO stream_names', 2)
    this.#setIndexedThrough = db.prepare<[number, number]>(
      'UPDATE log_state SET indexed_through = ? WHERE indexed_through < ?',
    )
  }

  /**
   * Call it inside a transaction, before anything is appended: only committed streams may go into the index.
   * When the transaction has been committed, call the function that comes back.
   */
  step(): (() => void) | undefined {
    if (this.#numbers.indexedThrough >= this.#through) this.#buckets = []
    if (this.#buckets.length === 0) {
      if (this.#numbers.youngCount < mergeAt) return undefined
      this.#collect()
    }
    const bucket = this.#buckets.at(-1) ?? []
    bucket.sort((a, b) => a[0] - b[0])
    for (const [hash, number] of bucket) this.#rows.add(hash, number)
    this.#rows.flush()
    const isLast = this.#buckets.length === 1
    if (isLast) this.#setIndexedThrough.run(this.#through, this.#through)
    return () => {
      this.#buckets.pop()
      if (isLast) this.#numbers.indexed(this.#through)
    }
  }

  #collect(): void {
    this.#buckets = Array.from({ length: bucketCount }, () => [])
    for (const [name, number] of this.#numbers.young()) {
      const hash = streamHash(name)
      this.#buckets[Math.floor(hash / hashesPerBucket)]?.push([hash, number])
      this.#through = number
    }
  }
}
