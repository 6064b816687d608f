import { createHash } from 'node:crypto'

/** A literal implementation of RFC 6962, section 2.1: slow, but easy to check. */

function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

function largestPowerBelow(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}

function naiveLeaf(entry: Uint8Array): Buffer {
  return sha256(Buffer.of(0), entry)
}

/** MTH(D[n]). */
export function naiveRoot(entries: readonly Uint8Array[]): Buffer {
  if (entries.length === 0) return sha256()
  if (entries.length === 1) return naiveLeaf(entries[0]!)
  const k = largestPowerBelow(entries.length)
  return sha256(Buffer.of(1), naiveRoot(entries.slice(0, k)), naiveRoot(entries.slice(k)))
}

/** PATH(m, D[n]). */
export function naivePath(index: number, entries: readonly Uint8Array[]): Buffer[] {
  if (entries.length <= 1) return []
  const k = largestPowerBelow(entries.length)
  const [left, right] = [entries.slice(0, k), entries.slice(k)]
  return index < k ? [...naivePath(index, left), naiveRoot(right)] : [...naivePath(index - k, right), naiveRoot(left)]
}

/** PROOF(m, D[n]). */
export function naiveProof(from: number, entries: readonly Uint8Array[]): Buffer[] {
  return subproof(from, entries, true)
}

function subproof(from: number, entries: readonly Uint8Array[], isKnown: boolean): Buffer[] {
  if (from === entries.length) return isKnown ? [] : [naiveRoot(entries)]
  const k = largestPowerBelow(entries.length)
  const [left, right] = [entries.slice(0, k), entries.slice(k)]
  return from <= k
    ? [...subproof(from, left, isKnown), naiveRoot(right)]
    : [...subproof(from - k, right, false), naiveRoot(left)]
}
