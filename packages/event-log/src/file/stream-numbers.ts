import type { Database, Statement } from 'better-sqlite3'
import { streamHash } from './stream-hash.js'
import { tombstoneRevision } from './stream-metadata.js'

/**
 * What is added to a hash while its name is recent: such rows lie together behind all others, in pages that are few. Programs from before
 * there were any do not find them, and read the names behind `indexed_through` from the log as they always did.
 */
export const recentKeys = 2 ** 48
/** The row with this key says through which stream names are merged, as recent ones or by their hash alone. */
export const mergedThroughKey = 2 ** 49

/**
 * Finds a stream's number by its name. Names are random, and inserting them one by one into an index on disk dirties a
 * page per stream, which alone halves the throughput. So the names of the youngest streams are held in memory (read
 * from the log when it is opened), and are merged in lots, in the index's order: first among the recent ones, a small index whose
 * pages each lot shares, and those, when there are many, into the whole one (stream-name-merge.ts).
 */
export class StreamNumbers {
  /** Names of the streams behind `#mergedThrough`, oldest first. */
  readonly #young = new Map<string, number>()
  #mergedThrough = 0
  #indexedThrough = 0
  /** The highest stream number known here. */
  #last = 0
  readonly #byKey: Statement<[number], number>
  readonly #nameOf: Statement<[number], string>
  readonly #younger: Statement<[number], [number, string]>
  readonly #readState: Statement<[], [indexedThrough: number, mergedThrough: number | null]>

  constructor(db: Database) {
    this.#byKey = db.prepare<[number], number>('SELECT stream FROM stream_names WHERE hash = ?').pluck()
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

  /** Reads what other connections added. Call it inside a transaction, or lookups may miss a stream that is being merged. */
  refresh(): void {
    const state = this.#readState.get()
    if (state === undefined) throw new Error('the event log has lost its state row')
    const [indexedThrough, mergedThrough] = state
    this.indexed(indexedThrough)
    if (mergedThrough !== null) this.merged(mergedThrough)
    for (const [number, name] of this.#younger.iterate(this.#last)) this.add(name, number)
  }

  add(name: string, number: number): void {
    this.#young.set(name, number)
    this.#last = number
  }

  /** What is on disk now covers the streams up to this one. */
  merged(through: number): void {
    this.#mergedThrough = Math.max(this.#mergedThrough, through)
    this.#last = Math.max(this.#last, through)
    for (const [name, number] of this.#young) {
      if (number > through) return
      this.#young.delete(name)
    }
  }

  /** By their hash alone. */
  indexed(through: number): void {
    this.#indexedThrough = Math.max(this.#indexedThrough, through)
    this.merged(through)
  }

  find(name: string): number | undefined {
    const young = this.#young.get(name)
    if (young !== undefined) return young
    if (this.#mergedThrough === 0) return undefined
    const hash = streamHash(name)
    // In this order: a merge may bring a recent name into the whole index in between, and never the other way.
    return this.#findAt(hash + recentKeys, name) ?? this.#findAt(hash, name)
  }

  *young(): Iterable<[string, number]> {
    yield* this.#young
  }

  #findAt(key: number, name: string): number | undefined {
    const first = this.#byKey.get(key)
    if (first === undefined) return undefined
    if (this.#nameOf.get(first) === name) return first
    return this.#byKey.all(key).find((number) => this.#nameOf.get(number) === name)
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
