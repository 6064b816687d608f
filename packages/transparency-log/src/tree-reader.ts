import { emptyRoot, type Hash, leafHash, nodeHash, rootOver } from './merkle-hash.js'
import { isPowerOfTwo, largestPowerOfTwoBelow } from './powers-of-two.js'
import {
  type BundleKind,
  bundleOf,
  readBundle,
  readHashes,
  type TileStore,
  tilePath,
  tileWidth,
  widthOf,
} from './tiles.js'
import { VerificationError } from './verification-error.js'

const levelsPerTile = 8

/**
 * Computes roots and proofs from the tiles of a tree of `size` leaves, for that size and every smaller one. It trusts the tiles: the
 * caller compares the root with a signed checkpoint or verifies the proof. All methods throw VerificationError if a file is missing
 * or malformed, and RangeError for an index outside the tree.
 */
export class TreeReader {
  readonly size: number
  readonly #store: TileStore
  readonly #kind: BundleKind
  /** Proofs of related leaves share tiles. */
  readonly #tiles = new Map<string, Promise<Hash[]>>()
  readonly #bundles = new Map<number, Promise<Buffer[]>>()

  constructor(store: TileStore, size: number, bundles: BundleKind = 'entries') {
    this.#store = store
    this.#kind = bundles
    this.size = size
  }

  async root(size = this.size): Promise<Hash> {
    this.#requireInTree(size, this.size)
    return size === 0 ? emptyRoot() : this.#range(0, size)
  }

  /** Reads the entry of a leaf, or its name, from its bundle. */
  async entry(index: number): Promise<Buffer> {
    this.#requireInTree(index, this.size - 1)
    const bundle = await cached(this.#bundles, Math.floor(index / tileWidth), (bundle) =>
      readBundle(this.#store, bundle, this.size, this.#kind),
    )
    return bundle[index % tileWidth]!
  }

  /** Reads the hash of a leaf from its tile. */
  async leafHash(index: number): Promise<Hash> {
    this.#requireInTree(index, this.size - 1)
    return this.#subtree(0, index)
  }

  /** Reads the hashes of the leaves of a bundle from their tile. */
  leafHashes(bundle: number): Promise<readonly Hash[]> {
    return this.#tile(0, bundle)
  }

  /**
   * Yields the bundles of entries, as files, from the one with leaf `from` on, for a tree whose bundles hold names. `leavesFrom` returns
   * the leaves from an index on. @throws VerificationError if a leaf is missing or differs from its hash
   */
  async *entryBundles(from: number, leavesFrom: (index: number) => AsyncIterable<Uint8Array>) {
    let bundle = Math.floor(from / tileWidth)
    let entries: Uint8Array[] = []
    for await (const leaf of leavesFrom(bundle * tileWidth)) {
      const width = widthOf('entries', bundle, this.size)
      if (width === 0) return
      const hashes = await this.leafHashes(bundle)
      if (!leafHash(leaf).equals(hashes[entries.length]!))
        throw new VerificationError(`leaf ${bundle * tileWidth + entries.length} has changed`)
      entries.push(leaf)
      if (entries.length < width) continue
      yield { path: tilePath('entries', bundle++, width), bytes: bundleOf(entries) }
      entries = []
    }
    if (bundle * tileWidth < this.size)
      throw new VerificationError(`leaf ${bundle * tileWidth + entries.length} is missing`)
  }

  /** Proves that a leaf is in the tree of the first `size` leaves, from the leaf's sibling upwards (RFC 6962, 2.1.1). */
  async inclusionProof(index: number, size = this.size): Promise<Hash[]> {
    this.#requireInTree(size, this.size)
    this.#requireInTree(index, size - 1)
    return this.#path(index, 0, size)
  }

  /** Proves that the tree of `from` leaves is a prefix of the tree of `to` leaves (RFC 6962, 2.1.2). Empty if `from` is 0. */
  async consistencyProof(from: number, to = this.size): Promise<Hash[]> {
    this.#requireInTree(to, this.size)
    this.#requireInTree(from, to)
    return from === 0 ? [] : this.#subproof(from, 0, to, true)
  }

  /** Yields the entries from `from` up to but excluding `to`, in order. Reads one bundle at a time. */
  async *entries(from = 0, to = this.size): AsyncGenerator<{ readonly index: number; readonly entry: Buffer }> {
    this.#requireInTree(to, this.size)
    for (let bundle = Math.floor(from / tileWidth); bundle * tileWidth < to; bundle++) {
      const first = bundle * tileWidth
      const entries = await readBundle(this.#store, bundle, this.size, this.#kind)
      for (const [place, entry] of entries.entries()) {
        const index = first + place
        if (index >= from && index < to) yield { index, entry }
      }
    }
  }

  #requireInTree(place: number, last: number): void {
    if (!Number.isSafeInteger(place) || place < 0 || place > last) throw new RangeError(`${place} is not in the tree`)
  }

  async #path(index: number, start: number, end: number): Promise<Hash[]> {
    if (end - start === 1) return []
    const middle = start + largestPowerOfTwoBelow(end - start)
    return index < middle
      ? [...(await this.#path(index, start, middle)), await this.#range(middle, end)]
      : [...(await this.#path(index, middle, end)), await this.#range(start, middle)]
  }

  async #subproof(from: number, start: number, end: number, isKnown: boolean): Promise<Hash[]> {
    if (from === end) return isKnown ? [] : [await this.#range(start, end)]
    const middle = start + largestPowerOfTwoBelow(end - start)
    return from <= middle
      ? [...(await this.#subproof(from, start, middle, isKnown)), await this.#range(middle, end)]
      : [...(await this.#subproof(from, middle, end, false)), await this.#range(start, middle)]
  }

  /** Returns the hash of the leaves from `start` up to but excluding `end`, which must be a subtree of the recursion. */
  async #range(start: number, end: number): Promise<Hash> {
    const length = end - start
    if (isPowerOfTwo(length)) return this.#subtree(Math.round(Math.log2(length)), start / length)
    const middle = start + largestPowerOfTwoBelow(length)
    return nodeHash(await this.#range(start, middle), await this.#range(middle, end))
  }

  /** Returns the hash of the `index`-th full subtree of a height. */
  async #subtree(height: number, index: number): Promise<Hash> {
    const level = Math.floor(height / levelsPerTile)
    const width = 2 ** (height % levelsPerTile)
    const first = index * width
    const hashes = await this.#tile(level, Math.floor(first / tileWidth))
    return rootOver(hashes.slice(first % tileWidth, (first % tileWidth) + width))
  }

  #tile(level: number, index: number): Promise<Hash[]> {
    return cached(this.#tiles, `${level}/${index}`, () => readHashes(this.#store, level, index, this.size))
  }
}

const maxCached = 64

function cached<Key, Value>(
  cache: Map<Key, Promise<Value>>,
  key: Key,
  read: (key: Key) => Promise<Value>,
): Promise<Value> {
  const known = cache.get(key)
  if (known) return known
  if (cache.size >= maxCached) cache.clear()
  const value = read(key)
  cache.set(key, value)
  return value
}
