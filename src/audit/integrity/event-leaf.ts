import { createHash } from 'node:crypto'
import { maxEntryBytes } from '@transferd/transparency-log'
import type { RecordedEvent } from '../../event-store/event-store.js'

/** Returns the canonical JSON of RFC 8785: sorted names, no white space. Omits undefined values, as JSON.stringify does. */
export function canonicalJson(value: unknown): string {
  const sorted = withSortedNames(value)
  return sorted === unsortable ? serialize(value) : JSON.stringify(sorted)
}

const unsortable = Symbol('an object cannot have these names in this order')

/** Returns a copy with sorted names, which a single call serializes in a third of the time. */
function withSortedNames(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map(withSortedNames)
    return items.includes(unsortable) ? unsortable : items
  }
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(value).sort()) {
    // An object lists numeric names first, and `__proto__` does not become a member.
    if (/^\d/.test(name) || name === '__proto__') return unsortable
    const member = withSortedNames((value as Record<string, unknown>)[name])
    if (member === unsortable) return unsortable
    copy[name] = member
  }
  return copy
}

function serialize(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(serialize).join(',')}]`
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  const sorted = members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([name, member]) => `${JSON.stringify(name)}:${serialize(member)}`).join(',')}}`
}

/**
 * Returns the leaf of an event: canonical JSON of everything that is stored, except the position in the log, which is the leaf's own. Read
 * the event with `includeStored`: stored bytes that are not just the JSON of data and metadata (white space, a repeated name) are then
 * part of the leaf. docs/decisions/0029-tamper-evidence.md describes what this covers.
 */
export function leafOf({ stream, revision, id, type, data, metadata, recordedAtMs, stored }: RecordedEvent): Buffer {
  const place = { id, recordedAtMs, revision, stream, type }
  const content = stored ? { stored: stored.map((bytes) => Buffer.from(bytes).toString('base64')) } : { data, metadata }
  const leaf = Buffer.from(canonicalJson({ ...place, ...content }))
  return leaf.length <= maxEntryBytes ? leaf : digestOf(leaf, place)
}

/** An entry has at most 65,535 bytes, so a longer leaf is represented by its SHA-256. */
function digestOf(leaf: Buffer, place: object): Buffer {
  const sha256 = createHash('sha256').update(leaf).digest('hex')
  const withPlace = Buffer.from(canonicalJson({ ...place, sha256 }))
  // Only a stream of another program can have such a long name.
  return withPlace.length <= maxEntryBytes ? withPlace : Buffer.from(canonicalJson({ sha256 }))
}

/** Returns which event a leaf belongs to, or `undefined` if the leaf does not contain it. */
export function placeInLeaf(leaf: Uint8Array): Pick<RecordedEvent, 'stream' | 'revision' | 'id'> | undefined {
  try {
    const { stream, revision, id } = JSON.parse(Buffer.from(leaf).toString('utf8'))
    if (typeof stream !== 'string' || typeof id !== 'string' || !Number.isSafeInteger(revision)) return undefined
    return { stream, revision, id }
  } catch {
    return undefined
  }
}
