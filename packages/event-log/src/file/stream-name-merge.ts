import type { Database, Statement } from 'better-sqlite3'
import { RowInserter } from './row-inserter.js'
import { streamHash } from './stream-hash.js'
import { mergedThroughKey, recentKeys, type StreamNumbers } from './stream-numbers.js'

export interface MergeSizes {
  /** Young streams that become recent together: every thread has them in memory, and every process reads them when it opens the log. */
  readonly recentAt: number
  /** Recent streams before they are indexed for good: in a log of ten million streams each page of the index then takes in a dozen. */
  readonly indexedAt: number
  /**
   * Of so many, the names that one commit merges: all at once would block the writer. Of more it merges more, or where each commit brings
   * thousands of streams it would never come to an end.
   */
  readonly namesPerStep: number
}

const mergeSizes: MergeSizes = { recentAt: 8_192, indexedAt: 262_144, namesPerStep: 1_024 }

type Done = () => void

/** Brings the names of young streams to disk, some with each call, inside the caller's transactions. */
export class StreamNameMerge {
  readonly #numbers: StreamNumbers
  readonly #sizes: MergeSizes
  readonly #rows: RowInserter<[key: number, stream: number]>
  readonly #setMergedThrough: Statement<[number]>
  readonly #dropMergedThrough: Statement<[number]>
  readonly #setIndexedThrough: Statement<[number, number]>
  readonly #index: Statement<[from: number, to: number, through: number]>
  readonly #dropIndexed: Statement<[from: number, to: number, through: number]>
  /** What is left of the young ones that are becoming recent: parts in the index's order, the first one last. */
  #parts: [key: number, stream: number][][] = []
  #partsThrough = 0
  /** The recent ones that are being indexed: up to which stream, and how many ranges of hashes are done. */
  #indexing: { readonly through: number; readonly ranges: number; done: number } | undefined

  constructor(db: Database, numbers: StreamNumbers, sizes: MergeSizes = mergeSizes) {
    this.#numbers = numbers
    this.#sizes = sizes
    // Ignore: after a crash, or beside another process, a merge begins again with names that are there already.
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
   * Call it inside a transaction, before anything is appended: only committed streams may go into the index.
   * When the transaction has been committed, call the function that comes back.
   */
  step(): Done | undefined {
    const [kept, indexed] = [this.#keepYoung(), this.#indexRecent()]
    if (!kept || !indexed) return kept ?? indexed
    return () => {
      kept()
      indexed()
    }
  }

  #keepYoung(): Done | undefined {
    // Another process has done it.
    if (this.#numbers.mergedThrough >= this.#partsThrough) this.#parts = []
    if (this.#parts.length === 0) {
      if (this.#numbers.youngCount < this.#sizes.recentAt) return undefined
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
      this.#numbers.merged(through)
    }
  }

  #collect(): void {
    const names: [key: number, stream: number][] = []
    for (const [name, stream] of this.#numbers.young()) {
      names.push([streamHash(name) + recentKeys, stream])
      this.#partsThrough = stream
    }
    names.sort((a, b) => b[0] - a[0])
    const { recentAt, namesPerStep } = this.#sizes
    const partLength = Math.ceil((names.length * namesPerStep) / recentAt)
    for (let from = 0; from < names.length; from += partLength)
      this.#parts.push(names.slice(from, from + partLength).reverse())
  }

  #indexRecent(): Done | undefined {
    const { mergedThrough, indexedThrough } = this.#numbers
    const { indexedAt, namesPerStep } = this.#sizes
    if (this.#indexing && indexedThrough >= this.#indexing.through) this.#indexing = undefined
    if (!this.#indexing && mergedThrough - indexedThrough < indexedAt) return undefined
    this.#indexing ??= { through: mergedThrough, ranges: Math.ceil(indexedAt / namesPerStep), done: 0 }
    const indexing = this.#indexing
    const { through } = indexing
    const range = [indexing.done, indexing.done + 1].map(
      (n) => recentKeys + Math.floor((n / indexing.ranges) * recentKeys),
    )
    const [from, to] = [range[0]!, range[1]!]
    this.#index.run(from, to, through)
    this.#dropIndexed.run(from, to, through)
    const isLast = indexing.done + 1 === indexing.ranges
    if (isLast) this.#setIndexedThrough.run(through, through)
    return () => {
      indexing.done++
      if (isLast) this.#numbers.indexed(through)
    }
  }
}
