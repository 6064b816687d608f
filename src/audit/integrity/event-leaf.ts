import { createHash } from 'node:crypto'
import { leafHash, maxEntryBytes } from '@transferd/transparency-log'
import { streamKind, streamPrefix } from '../../domain/streams.js'
import type { Place, UnparsedEvent } from '../../event-store/event-store.js'

/**
 * The secrets of users, merchants and wallet accounts: sealed ones, and digests against which a secret can be tried. A leaf holds their hash
 * only, so that a proof can show the rest of the event, such as the name and role of a user. Every value is random or has a random salt, so
 * its hash reveals nothing.
 */
export const redactedFields: ReadonlySet<string> = new Set([
  ...['secretKey', 'secretKeys', 'webhookSecret', 'previousWebhookSecret', 'secret', 'secondFactor', 'email', 'phone'],
  ...['apiKeySha256', 'passwordHash', 'emailMac', 'codeDigest', 'codeDigests'],
])
const streamsWithSecrets: ReadonlySet<unknown> = new Set([
  streamPrefix.user,
  streamPrefix.merchant,
  streamPrefix.wallet,
])

/**
 * Returns the leaf of an event: one JSON array of the form's name, its place and time, and the stored text of `[id, type, data, metadata]`,
 * unchanged unless it has {@link redactedFields}. Parsing and writing each event again cost two thirds of sealing and verifying. The name of
 * the form, the stream as a JSON string and the two numbers end where they do whatever follows, so no two stored events have the same leaf.
 * The position in the log is the leaf's own. docs/decisions/0029-tamper-evidence.md describes what a leaf covers.
 */
export function leafOf(event: UnparsedEvent): string {
  const leaf = wholeLeafOf(event)
  if (Buffer.byteLength(leaf) <= maxEntryBytes) return leaf
  // An entry of a bundle cannot be longer.
  const sha256 = JSON.stringify(sha256Of(leaf))
  const withPlace = leafText('sha256', event, sha256)
  // Only a stream of another program can have such a long name.
  return Buffer.byteLength(withPlace) <= maxEntryBytes ? withPlace : `["transferd/2 sha256",${sha256}]`
}

/** Returns the leaf of an event also if it is too long for the tree, which then holds its SHA-256. */
export function wholeLeafOf(event: UnparsedEvent): string {
  const { text, bytes = [] } = event
  const redacted = text !== undefined && streamsWithSecrets.has(streamKind(event.stream)) && redactedText(text)
  const stored = redacted || (text ?? bytes.map((each) => `"${Buffer.from(each).toString('base64')}"`).join())
  return leafText(redacted ? 'redacted' : text === undefined ? 'bytes' : 'event', event, stored)
}

/** Returns the text with the hashes of the secrets in their place, or `undefined` if it has none or is not exactly what the service writes. */
function redactedText(text: string): string | undefined {
  const content: unknown = parsed(text)
  if (!Array.isArray(content) || content.length !== 4 || JSON.stringify(content) !== text) return undefined
  const [id, type, data, metadata] = content
  if (typeof data !== 'object' || data === null) return undefined
  const secrets = Object.entries(data).filter(([name, value]) => redactedFields.has(name) && value !== null)
  if (secrets.length === 0) return undefined
  const hashes = secrets.map(([name, value]) => [name, { sha256: sha256Of(JSON.stringify(value)) }])
  return JSON.stringify([id, type, { ...data, ...Object.fromEntries(hashes) }, metadata])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex')

function leafText(
  form: 'event' | 'redacted' | 'bytes' | 'sha256',
  { stream, revision, recordedAtMs }: UnparsedEvent,
  rest: string,
) {
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
