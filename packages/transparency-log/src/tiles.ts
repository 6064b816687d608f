import { type Hash, hashBytes } from './merkle-hash.js'
import { VerificationError } from './verification-error.js'

/** The files of a tree by their path in the C2SP tlog-tiles layout. Any web server can publish them. */
export interface TileStore {
  /** Returns the file, or `undefined` if it does not exist. */
  read(path: string): Promise<Uint8Array | undefined>
  /** Writes a file atomically and durably. A reader finds either the whole new file or the previous one. */
  write(path: string, bytes: Uint8Array): Promise<void>
}

/** The number of hashes in a full tile and of entries in a full bundle. */
export const tileWidth = 256

/** The limit follows from the 16-bit length of an entry in a bundle. */
export const maxEntryBytes = 65_535

/**
 * The content of a tree's bundles: the leaves, or, for a tree over a log that can return its leaves again, only a name for each leaf.
 * Names are not authenticated by the tree. They find a leaf and describe a missing one.
 */
export type BundleKind = 'entries' | 'names'

/** Level 0 holds the hashes of the leaves. */
export type TileLevel = number | BundleKind

/** Returns `tile/<L>/<N>[.p/<W>]`, where the index consists of groups of three digits: `x001/x234/067`. */
export function tilePath(level: TileLevel, index: number, width = tileWidth): string {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g)!
  const path = groups.map((group, place) => (place === groups.length - 1 ? group : `x${group}`)).join('/')
  return `tile/${level}/${path}${width === tileWidth ? '' : `.p/${width}`}`
}

/** Returns the number of hashes on a level: one for each full tile of the level below. */
export function hashesOnLevel(level: TileLevel, size: number): number {
  return typeof level === 'string' ? size : Math.floor(size / tileWidth ** level)
}

/** Returns the width of a tile in a tree of `size` leaves: 256 if it is full, 0 if it does not exist. */
export function widthOf(level: TileLevel, index: number, size: number): number {
  return Math.min(tileWidth, Math.max(0, hashesOnLevel(level, size) - index * tileWidth))
}

/** Returns the levels of a tree of `size` leaves that have a hash. */
export function levelsOf(size: number, bundles: BundleKind = 'entries'): TileLevel[] {
  const levels: TileLevel[] = []
  for (let level = 0; hashesOnLevel(level, size) > 0; level++) levels.push(level)
  return levels.length === 0 ? [] : [bundles, ...levels]
}

/** Yields the paths of all files, including partial tiles, that a tree of `to` leaves has and a tree of `from` leaves lacks. */
export function* filesSince(from: number, to: number, bundles: BundleKind = 'entries'): Generator<string> {
  for (const level of levelsOf(to, bundles)) {
    const count = hashesOnLevel(level, to)
    const before = hashesOnLevel(level, from)
    if (count === before) continue
    for (let index = Math.floor(before / tileWidth); index * tileWidth < count; index++) {
      yield tilePath(level, index, widthOf(level, index, to))
    }
  }
}

/** Reads a tile of a tree of `size` leaves. A full tile replaces its partial versions. @throws VerificationError */
async function readTile(store: TileStore, level: TileLevel, index: number, size: number): Promise<Uint8Array> {
  const path = tilePath(level, index, widthOf(level, index, size))
  const bytes = (await store.read(path)) ?? (await store.read(tilePath(level, index)))
  if (bytes === undefined) throw new VerificationError(`${path} is missing`)
  return bytes
}

/** Reads the hashes of a tile in a tree of `size` leaves from the files of a tree of `within` leaves. @throws VerificationError */
export async function readHashes(
  store: TileStore,
  level: number,
  index: number,
  size: number,
  within = size,
): Promise<Hash[]> {
  const bytes = Buffer.from(await readTile(store, level, index, within))
  const width = widthOf(level, index, size)
  if (bytes.length % hashBytes !== 0 || bytes.length < width * hashBytes) {
    throw new VerificationError(`${tilePath(level, index, width)} has ${bytes.length} bytes instead of ${width} hashes`)
  }
  return Array.from({ length: width }, (_, place) => bytes.subarray(place * hashBytes, (place + 1) * hashBytes))
}

/** Reads the entries of a bundle in a tree of `size` leaves. @throws VerificationError */
export async function readBundle(
  store: TileStore,
  index: number,
  size: number,
  kind: BundleKind = 'entries',
): Promise<Buffer[]> {
  const width = widthOf(kind, index, size)
  const entries = entriesIn(Buffer.from(await readTile(store, kind, index, size)))
  if (entries === undefined || entries.length < width) {
    throw new VerificationError(`${tilePath(kind, index, width)} does not contain ${width} whole entries`)
  }
  return entries.slice(0, width)
}

/** Concatenates entries, each after its 16-bit length. @throws RangeError if an entry is too large */
export function bundleOf(entries: readonly Uint8Array[]): Buffer {
  const bundle = Buffer.allocUnsafe(entries.reduce((sum, entry) => sum + 2 + entry.length, 0))
  let place = 0
  for (const entry of entries) {
    bundle.set(entry, bundle.writeUInt16BE(entry.length, place))
    place += 2 + entry.length
  }
  return bundle
}

function entriesIn(bundle: Buffer): Buffer[] | undefined {
  const entries: Buffer[] = []
  for (let place = 0; place < bundle.length; ) {
    if (place + 2 > bundle.length) return undefined
    const end = place + 2 + bundle.readUInt16BE(place)
    if (end > bundle.length) return undefined
    entries.push(bundle.subarray(place + 2, end))
    place = end
  }
  return entries
}
