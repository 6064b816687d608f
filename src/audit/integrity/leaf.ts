import { createHash } from 'node:crypto'
import { maxEntryBytes } from '@transferd/transparency-log'
import type { RecordedEvent } from '../../event-store/event-store.js'
import { canonicalJson } from './canonical-json.js'

/**
 * The leaf of an event: canonical JSON of all that is stored of it but its place in the log, which the leaf's own place says. Read it
 * with `includeStored`: what is stored and is not just the JSON of data and metadata (bytes, white space, a name that comes twice) is in
 * the leaf as it is. docs/decisions/0029-tamper-evidence.md says what that covers.
 */
export function leafOf({ stream, revision, id, type, data, metadata, recordedAtMs, stored }: RecordedEvent): Buffer {
  const place = { id, recordedAtMs, revision, stream, type }
  const content = stored ? { stored: stored.map(base64) } : { data, metadata }
  const leaf = Buffer.from(canonicalJson({ ...place, ...content }))
  return leaf.length <= maxEntryBytes ? leaf : digestOf(leaf, place)
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

/** An entry has at most 65,535 bytes: a longer leaf is named by its SHA-256. */
function digestOf(leaf: Buffer, place: object): Buffer {
  const sha256 = createHash('sha256').update(leaf).digest('hex')
  const named = Buffer.from(canonicalJson({ ...place, sha256 }))
  // A name as long as that is a stranger's.
  return named.length <= maxEntryBytes ? named : Buffer.from(canonicalJson({ sha256 }))
}

interface LeafPlace {
  readonly stream: string
  readonly revision: number
  readonly id: string
}

/** Which event a leaf is of; undefined where it does not say so. */
export function placeInLeaf(leaf: Uint8Array): LeafPlace | undefined {
  try {
    const { stream, revision, id } = JSON.parse(Buffer.from(leaf).toString('utf8'))
    if (typeof stream !== 'string' || typeof id !== 'string' || !Number.isSafeInteger(revision)) return undefined
    return { stream, revision, id }
  } catch {
    return undefined
  }
}
