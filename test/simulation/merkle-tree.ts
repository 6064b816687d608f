import { createHash } from 'node:crypto'

const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const [leafPrefix, nodePrefix] = [Uint8Array.of(0), Uint8Array.of(1)]

/** The Merkle tree hash of RFC 6962, written after its definition. */
export function rootOf(entries: readonly string[]): Buffer {
  return hashOf(entries.map((entry) => sha256(leafPrefix, Buffer.from(entry))))
}

function hashOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256()
  if (leaves.length === 1) return leaves[0]!
  let half = 1
  while (half * 2 < leaves.length) half *= 2
  return sha256(nodePrefix, hashOf(leaves.slice(0, half)), hashOf(leaves.slice(half)))
}
