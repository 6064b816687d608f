import { emptyRoot, type Hash, hashBytes, nodeHash } from './merkle-hash.js'
import { isPowerOfTwo } from './powers-of-two.js'

/** Returns whether the leaf is number `index` of the tree with this size and root (RFC 9162, 2.1.3.2). */
export function verifyInclusion(leaf: Hash, index: number, size: number, root: Hash, proof: readonly Hash[]): boolean {
  if (!isCount(index) || !isCount(size) || index >= size || !areHashes([leaf, root, ...proof])) return false
  let [place, last] = [index, size - 1]
  let hash = leaf
  for (const sibling of proof) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      hash = nodeHash(sibling, hash)
      ;[place, last] = ascendWhileLeft(place, last)
    } else {
      hash = nodeHash(hash, sibling)
    }
    ;[place, last] = up(place, last)
  }
  return last === 0 && hash.equals(root)
}

/** The size and root of a tree. */
export interface TreeHead {
  readonly size: number
  readonly root: Hash
}

/** Returns whether the older tree is an unchanged prefix of the newer one (RFC 9162, 2.1.4.2). */
export function verifyConsistency(older: TreeHead, newer: TreeHead, proof: readonly Hash[]): boolean {
  if (!isCount(older.size) || !isCount(newer.size) || older.size > newer.size) return false
  if (!areHashes([older.root, newer.root, ...proof])) return false
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root)
  if (older.size === 0) return proof.length === 0 && older.root.equals(emptyRoot())
  // A full tree is a subtree of the newer one. Its root is known, so the proof omits it.
  const [first, ...others] = isPowerOfTwo(older.size) ? [older.root, ...proof] : proof
  if (first === undefined || proof.length === 0) return false
  return leadsToBoth(older, newer, first, others)
}

function leadsToBoth(older: TreeHead, newer: TreeHead, first: Hash, others: readonly Hash[]): boolean {
  let [place, last] = [older.size - 1, newer.size - 1]
  while (place % 2 === 1) [place, last] = up(place, last)
  let [olderHash, newerHash] = [first, first]
  for (const sibling of others) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      olderHash = nodeHash(sibling, olderHash)
      newerHash = nodeHash(sibling, newerHash)
      ;[place, last] = ascendWhileLeft(place, last)
    } else {
      newerHash = nodeHash(newerHash, sibling)
    }
    ;[place, last] = up(place, last)
  }
  return last === 0 && olderHash.equals(older.root) && newerHash.equals(newer.root)
}

function up(place: number, last: number): [number, number] {
  return [Math.floor(place / 2), Math.floor(last / 2)]
}

/** A last node without a sibling moves to the next level unchanged. */
function ascendWhileLeft(place: number, last: number): [number, number] {
  let at: [number, number] = [place, last]
  while (at[0] % 2 === 0 && at[0] !== 0) at = up(...at)
  return at
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function areHashes(hashes: readonly Hash[]): boolean {
  return hashes.every(({ length }) => length === hashBytes)
}
