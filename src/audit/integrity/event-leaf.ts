import { createHash } from 'node:crypto'
import { leafHash, maxEntryBytes } from '@transferd/transparency-log'
import type { Place, UnparsedEvent } from '../../event-store/event-store.js'

/**
 * Returns the leaf of an event: one JSON array of the form's name, its place and time, and the stored text of `[id, type, data, metadata]`,
 * unchanged. Parsing and writing each event again cost two thirds of sealing and verifying. The name of the form, the stream as a JSON
 * string and the two numbers end where they do whatever follows, so no two stored events have the same leaf. The position in the log is
 * the leaf's own. docs/decisions/0029-tamper-evidence.md describes what a leaf covers.
 */
export function leafOf(event: UnparsedEvent): string {
  const { text, bytes = [] } = event
  const stored = text ?? bytes.map((each) => `"${Buffer.from(each).toString('base64')}"`).join()
  const leaf = leafText(text === undefined ? 'bytes' : 'event', event, stored)
  if (Buffer.byteLength(leaf) <= maxEntryBytes) return leaf
  // An entry of a bundle cannot be longer.
  const sha256 = JSON.stringify(createHash('sha256').update(leaf).digest('hex'))
  const withPlace = leafText('sha256', event, sha256)
  // Only a stream of another program can have such a long name.
  return Buffer.byteLength(withPlace) <= maxEntryBytes ? withPlace : `["transferd/2 sha256",${sha256}]`
}

function leafText(form: 'event' | 'bytes' | 'sha256', { stream, revision, recordedAtMs }: UnparsedEvent, rest: string) {
  return `["transferd/2 ${form}",${JSON.stringify(stream)},${revision},${recordedAtMs},${rest}]`
}

/** Returns the hashes of the leaves of events, and the names by which {@link placeIn} finds the events in the log. */
export function leavesOf(events: readonly UnparsedEvent[]) {
  return { hashes: events.map((event) => leafHash(leafOf(event))), names: events.map(nameOf) }
}

export function nameOf({ stream, revision }: Place): Buffer {
  const name = Buffer.from(`${stream}@${revision}`)
  return name.length <= maxEntryBytes ? name : Buffer.alloc(0)
}

/** Returns the place that a name contains, or `undefined` if it contains none. */
export function placeIn(name: Uint8Array): Place | undefined {
  const [, stream, revision] = /^(.*)@(\d{1,15})$/s.exec(Buffer.from(name).toString('utf8')) ?? []
  return stream === undefined ? undefined : { stream, revision: Number(revision) }
}
