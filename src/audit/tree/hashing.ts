import { hash } from 'node:crypto'

/** A SHA-256 hash, 32 bytes: of a leaf, or of what is below a node. */
export type Hash = Buffer

export const hashBytes = 32

const leafPrefix = Buffer.from([0])
const nodePrefix = Buffer.from([1])

/** Prefixes keep leaves and nodes apart: no leaf's bytes can pass for a node (RFC 6962, 2.1). */
export function leafHash(entry: Uint8Array): Hash {
  return sha256(Buffer.concat([leafPrefix, entry]))
}

export function nodeHash(left: Hash, right: Hash): Hash {
  return sha256(Buffer.concat([nodePrefix, left, right]))
}

/** Of the tree without leaves. */
export function emptyRoot(): Hash {
  return sha256(Buffer.alloc(0))
}

/** In one call: an object for each hash costs as much as the hash. */
function sha256(bytes: Uint8Array): Hash {
  return hash('sha256', bytes, 'buffer')
}

/** The Merkle Tree Hash over the hashes of subtrees that are equally high; only the last may be lower. */
export function rootOver(hashes: readonly Hash[]): Hash {
  if (hashes.length === 0) return emptyRoot()
  let level = hashes
  while (level.length > 1) level = pairs(level)
  return level[0]!
}

/** One that is left over goes up as it is: RFC 6962 splits at the largest power of two, which gives the same tree. */
function pairs(level: readonly Hash[]): Hash[] {
  const above: Hash[] = []
  for (let index = 0; index < level.length; index += 2) {
    const [left, right] = [level[index]!, level[index + 1]]
    above.push(right === undefined ? left : nodeHash(left, right))
  }
  return above
}
