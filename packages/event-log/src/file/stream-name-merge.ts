import type { Database, Statement } from '../sqlite/sqlite.js'
import { RowInserter } from './row-inserter.js'
import { streamHash } from './stream-hash.js'
import { mergedThroughKey, recentKeys, type StreamNumbers } from './stream-numbers.js'

export interface MergeSizes {
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
export class StreamNameMerge {
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
