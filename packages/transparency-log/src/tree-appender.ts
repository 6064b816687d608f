import { type Hash, leafHash, rootOver } from './merkle-hash.js'
import {
  type BundleKind,
  bundleOf,
  hashesOnLevel,
  levelsOf,
  maxEntryBytes,
  readBundle,
  readHashes,
  type TileStore,
  tilePath,
  tileWidth,
} from './tiles.js'

/**
 * Writes the files of a growing tree. It writes full tiles as they fill and partial tiles on `flush()`; sign a checkpoint of a size
 * only after that. A tree has one writer at a time. After a failed write, discard the appender and open another one at the size of
 * the last checkpoint, which writes the same bytes again.
 */
export class TreeAppender {
  readonly #store: TileStore
  readonly #kind: BundleKind
  #size: number
  /** The entries of the last bundle if it is not full. */
  #bundle: Uint8Array[]
  /** The hashes of the last tile of each level that is not full. */
  readonly #levels: Hash[][]

  private constructor(store: TileStore, kind: BundleKind, size: number, bundle: Uint8Array[], levels: Hash[][]) {
    this.#store = store
    this.#kind = kind
    this.#size = size
    this.#bundle = bundle
    this.#levels = levels
  }

  /**
   * Opens a tree of `size` flushed leaves, or the first full bundles of a tree that was flushed at `within` leaves, whose narrower
   * tiles may be missing. Compare `root()` with the checkpoint's root. @throws VerificationError
   */
  static async open(
    store: TileStore,
    size: number,
    { within = size, bundles = 'entries' }: { readonly within?: number; readonly bundles?: BundleKind } = {},
  ): Promise<TreeAppender> {
    const levels: Hash[][] = []
    for (const level of levelsOf(size)) {
      if (typeof level === 'number') levels.push(await lastHashes(store, level, size, within))
    }
    const bundle = size % tileWidth === 0 ? [] : await readBundle(store, Math.floor(size / tileWidth), size, bundles)
    return new TreeAppender(store, bundles, size, bundle, levels)
  }

  get size(): number {
    return this.#size
  }

  /** Returns the root over all leaves, flushed or not. */
  root(): Hash {
    let below: Hash[] = []
    for (const hashes of this.#levels) {
      const level = [...hashes, ...below]
      below = level.length === 0 ? [] : [rootOver(level)]
    }
    return rootOver(below)
  }

  /**
   * Appends entries to the bundles and their hashes to the tree. If the bundles hold names, pass the names and the hashes of the leaves.
   * @throws RangeError and appends nothing if an entry is larger than `maxEntryBytes`
   */
  async append(entries: readonly Uint8Array[], hashes: readonly Hash[] = entries.map(leafHash)): Promise<void> {
    const tooLarge = entries.findIndex(({ length }) => length > maxEntryBytes)
    if (tooLarge >= 0) throw new RangeError(`entry ${this.#size + tooLarge} is larger than ${maxEntryBytes} bytes`)
    for (const [place, entry] of entries.entries()) {
      this.#bundle.push(entry)
      this.#size++
      const hashed = this.#push(0, hashes[place]!)
      if (this.#bundle.length < tileWidth) continue
      const path = tilePath(this.#kind, this.#size / tileWidth - 1)
      // Write both concurrently, because each waits for the disk.
      await Promise.all([hashed, this.#store.write(path, bundleOf(this.#bundle))])
      this.#bundle = []
    }
  }

  /** Writes the partial tiles of the current size. */
  async flush(): Promise<void> {
    if (this.#bundle.length > 0) {
      const index = Math.floor(this.#size / tileWidth)
      await this.#store.write(tilePath(this.#kind, index, this.#bundle.length), bundleOf(this.#bundle))
    }
    for (const [level, hashes] of this.#levels.entries()) {
      if (hashes.length === 0) continue
      const index = Math.floor(hashesOnLevel(level, this.#size) / tileWidth)
      await this.#store.write(tilePath(level, index, hashes.length), Buffer.concat(hashes))
    }
  }

  async #push(level: number, hash: Hash): Promise<void> {
    this.#levels[level] ??= []
    const hashes = this.#levels[level]
    hashes.push(hash)
    if (hashes.length < tileWidth) return
    await this.#store.write(tilePath(level, hashesOnLevel(level, this.#size) / tileWidth - 1), Buffer.concat(hashes))
    this.#levels[level] = []
    await this.#push(level + 1, rootOver(hashes))
  }
}

async function lastHashes(store: TileStore, level: number, size: number, within: number): Promise<Hash[]> {
  const count = hashesOnLevel(level, size)
  return count % tileWidth === 0 ? [] : readHashes(store, level, Math.floor(count / tileWidth), size, within)
}
