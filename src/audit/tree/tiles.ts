import { type Hash, hashBytes } from './hashing.js'
import { Unverified } from './unverified.js'

/** The files of a tree, by their path in the C2SP tlog-tiles layout: any web server can publish them. */
export interface TileStore {
  /** Undefined when there is no such file. */
  read(path: string): Promise<Uint8Array | undefined>
  /** Whole and durable when it is done; a reader finds all of it, or what was there before. */
  write(path: string, bytes: Uint8Array): Promise<void>
}

/** Hashes in a full tile, and entries in a full bundle. */
export const tileWidth = 256

/** The length of an entry in a bundle has 16 bits. */
export const maxEntryBytes = 65_535

/** `entries` are the leaves themselves, beside level 0, which has their hashes. */
export type TileLevel = number | 'entries'

/** `tile/<L>/<N>[.p/<W>]`, the index in groups of three digits: `x001/x234/067`. */
export function tilePath(level: TileLevel, index: number, width = tileWidth): string {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g)!
  const path = groups.map((group, place) => (place === groups.length - 1 ? group : `x${group}`)).join('/')
  return `tile/${level}/${path}${width === tileWidth ? '' : `.p/${width}`}`
}

/** How many hashes a level has in a tree of that size: one for each full tile of the level below. */
export function hashesOnLevel(level: TileLevel, size: number): number {
  return level === 'entries' ? size : Math.floor(size / tileWidth ** level)
}

/** How wide that tile is in a tree of that size: 256 when full, 0 when there is none. */
export function widthOf(level: TileLevel, index: number, size: number): number {
  return Math.min(tileWidth, Math.max(0, hashesOnLevel(level, size) - index * tileWidth))
}

/** The levels of a tree of that size that have a hash. */
export function levelsOf(size: number): TileLevel[] {
  const levels: TileLevel[] = []
  for (let level = 0; hashesOnLevel(level, size) > 0; level++) levels.push(level)
  return levels.length === 0 ? [] : ['entries', ...levels]
}

/** The paths of all files that a tree of `to` leaves has and a tree of `from` leaves has not, partial tiles included. */
export function* filesSince(from: number, to: number): Generator<string> {
  for (const level of levelsOf(to)) {
    const count = hashesOnLevel(level, to)
    const before = hashesOnLevel(level, from)
    if (count === before) continue
    for (let index = Math.floor(before / tileWidth); index * tileWidth < count; index++) {
      yield tilePath(level, index, widthOf(level, index, to))
    }
  }
}

/** The file of that tile in a tree of that size. A full one has replaced its partial ones. @throws Unverified */
async function readTile(store: TileStore, level: TileLevel, index: number, size: number): Promise<Uint8Array> {
  const path = tilePath(level, index, widthOf(level, index, size))
  const bytes = (await store.read(path)) ?? (await store.read(tilePath(level, index)))
  if (bytes === undefined) throw new Unverified(`${path} is missing`)
  return bytes
}

/** The hashes that a tile has in a tree of that size, from the files of one that has grown to `within`. @throws Unverified */
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
    throw new Unverified(`${tilePath(level, index, width)} has ${bytes.length} bytes: not ${width} hashes`)
  }
  return Array.from({ length: width }, (_, place) => bytes.subarray(place * hashBytes, (place + 1) * hashBytes))
}

/** The entries that a bundle has in a tree of that size. @throws Unverified */
export async function readBundle(store: TileStore, index: number, size: number): Promise<Buffer[]> {
  const width = widthOf('entries', index, size)
  const entries = entriesIn(Buffer.from(await readTile(store, 'entries', index, size)))
  if (entries === undefined || entries.length < width) {
    throw new Unverified(`${tilePath('entries', index, width)} does not hold ${width} whole entries`)
  }
  return entries.slice(0, width)
}

/** Each behind its length in 16 bits. @throws RangeError for one that is too large. */
export function bundleOf(entries: readonly Uint8Array[]): Buffer {
  return Buffer.concat(entries.flatMap((entry) => [lengthOf(entry), entry]))
}

function lengthOf(entry: Uint8Array): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(entry.length)
  return length
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
