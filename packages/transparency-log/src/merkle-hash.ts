import { hash } from 'node:crypto'

/** A SHA-256 hash of 32 bytes, of a leaf or of a node. */
export type Hash = Buffer

export const hashBytes = 32

const leafPrefix = Buffer.from([0])
const nodePrefix = Buffer.from([1])

/** Returns the hash of a leaf. The prefix keeps leaves and nodes distinct, so that no leaf can pass for a node (RFC 6962, 2.1). */
export function leafHash(entry: Uint8Array): Hash {
  return sha256(Buffer.concat([leafPrefix, entry]))
}

/** Returns the hash of an inner node. */
export function nodeHash(left: Hash, right: Hash): Hash {
  return sha256(Buffer.concat([nodePrefix, left, right]))
}

/** Returns the root of the empty tree. */
export function emptyRoot(): Hash {
  return sha256(Buffer.alloc(0))
}

/** Hashes in one call, because creating a hash object costs as much as hashing. */
function sha256(bytes: Uint8Array): Hash {
  return hash('sha256', bytes, 'buffer')
}

/** Returns the root over subtrees of equal height; only the last one may be lower. */
export function rootOver(hashes: readonly Hash[]): Hash {
  if (hashes.length === 0) return emptyRoot()
  let level = hashes
  while (level.length > 1) level = pairs(level)
  return level[0]!
}

/** Moves an unpaired last hash up unchanged, which yields the tree that RFC 6962 defines by splitting at the largest power of two. */
function pairs(level: readonly Hash[]): Hash[] {
  const above: Hash[] = []
  for (let index = 0; index < level.length; index += 2) {
    const [left, right] = [level[index]!, level[index + 1]]
    above.push(right === undefined ? left : nodeHash(left, right))
  }
  return above
}
