import { createHash } from 'node:crypto'
import { maxEntryBytes } from '@transferd/transparency-log'
import type { RecordedEvent } from '../../event-store/event-store.js'
import { canonicalJson } from './canonical-json.js'

/**
 * Returns the leaf of an event: canonical JSON of everything that is stored, except the position in the log, which is the leaf's own. Read
 * the event with `includeStored`: stored bytes that are not just the JSON of data and metadata (white space, a repeated name) are then
 * part of the leaf. docs/decisions/0029-tamper-evidence.md describes what this covers.
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

/** An entry has at most 65,535 bytes, so a longer leaf is represented by its SHA-256. */
function digestOf(leaf: Buffer, place: object): Buffer {
  const sha256 = createHash('sha256').update(leaf).digest('hex')
  const withPlace = Buffer.from(canonicalJson({ ...place, sha256 }))
  // Only a stream of another program can have such a long name.
  return withPlace.length <= maxEntryBytes ? withPlace : Buffer.from(canonicalJson({ sha256 }))
}

interface LeafPlace {
  readonly stream: string
  readonly revision: number
  readonly id: string
}

/** Returns which event a leaf belongs to, or `undefined` if the leaf does not contain it. */
export function placeInLeaf(leaf: Uint8Array): LeafPlace | undefined {
  try {
    const { stream, revision, id } = JSON.parse(Buffer.from(leaf).toString('utf8'))
    if (typeof stream !== 'string' || typeof id !== 'string' || !Number.isSafeInteger(revision)) return undefined
    return { stream, revision, id }
  } catch {
    return undefined
  }
}
