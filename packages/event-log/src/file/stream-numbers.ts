import type { Database, Statement } from '../sqlite/sqlite.js'
import { metadataText, nameOfKey, reservedKeys, reservingMetadata } from './reserved-keys.js'
import { streamHash } from './stream-hash.js'
import { tombstoneRevision } from './stream-metadata.js'

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
 * there, when it is large, into the whole index (`StreamNameMerge`).
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

const none: readonly number[] = []
