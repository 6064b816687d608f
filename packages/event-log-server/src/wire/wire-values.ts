import type { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb.js'
import type { ExpectedRevision } from '@transferd/event-log/streams'
import { positionScale, positionText, tombstoneRevision } from '@transferd/event-log/streams'
import { unexpectedError } from './call-error.js'
import { protobufEmpty, shared } from './generated-protocol.js'

/** Conversions of values from and to the protocol's messages. */

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const maxInt64 = 2n ** 63n - 1n
const maxUint64 = 2n ** 64n - 1n

export function parseStream(identifier: StreamIdentifier | undefined): string {
  const bytes = identifier?.getStreamName_asU8()
  if (bytes === undefined || bytes.length === 0) throw unexpectedError()
  try {
    return utf8.decode(bytes)
  } catch {
    throw unexpectedError()
  }
}

export function streamIdentifier(stream: string): StreamIdentifier {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
}

const plainId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const zeroId = '00000000-0000-0000-0000-000000000000'

/** Returns an id in lower case with dashes, or `undefined` for an invalid id and the zero id. */
export function parseId(uuid: UUID | undefined): string | undefined {
  // Nearly all ids have this form. Parsing and formatting each of them took a tenth of an append.
  const text = uuid?.getString() ?? ''
  if (plainId.test(text)) return text === zeroId ? undefined : text
  const hex = uuid?.hasStructured() ? structuredHex(uuid) : hexOf(text)
  if (hex === undefined || /^0+$/.test(hex)) return undefined
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function structuredHex(uuid: UUID): string {
  const structured = uuid.getStructured()
  const bits = (text: string | undefined) =>
    BigInt.asUintN(64, BigInt(text ?? 0))
      .toString(16)
      .padStart(16, '0')
  return bits(structured?.getMostSignificantBits()) + bits(structured?.getLeastSignificantBits())
}

/** Parses an id with or without dashes, in braces or parentheses. */
function hexOf(text: string): string | undefined {
  const inner = /^\{(.*)\}$|^\((.*)\)$/.exec(text.trim())
  const id = (inner?.[1] ?? inner?.[2] ?? text.trim()).toLowerCase()
  return plainId.test(id) || /^[0-9a-f]{32}$/.test(id) ? id.replaceAll('-', '') : undefined
}

export function revisionText(revision: number): string {
  return revision === tombstoneRevision ? `${maxInt64}` : `${revision}`
}

/** Parses the revision from which a stream is read. A revision that exceeds a double is after the end of every stream. */
export function parseRevision(text: string): number {
  const revision = BigInt(text)
  if (revision > maxInt64) throw unexpectedError()
  return Number(revision)
}

export function isMaxUint64(text: string): boolean {
  return BigInt(text) === maxUint64
}

/** The position of an event, the start or end of the log, a position after its end, or a position that no event can have. */
type RequestedPosition = number | 'start' | 'end' | 'after_end' | 'invalid'

/** Parses a position, whose prepare half can be 0. */
export function parsePosition(commitText: string, prepareText: string, lastPosition: number): RequestedPosition {
  const commit = BigInt(commitText)
  const prepare = BigInt(prepareText)
  if (commit === maxUint64) return 'end'
  if (commit === 0n && prepare === 0n) return 'start'
  if (commit > maxInt64 || prepare > commit) return 'invalid'
  if (commit > BigInt(lastPosition) * BigInt(positionScale)) return 'after_end'
  if (commit % BigInt(positionScale) !== 0n || (prepare !== commit && prepare !== 0n)) return 'invalid'
  return Number(commit / BigInt(positionScale))
}

interface PositionMessage {
  setCommitPosition(position: string): unknown
  setPreparePosition(position: string): unknown
}

/** Sets both halves of a message's position, and returns the message. */
export function setPosition<Message extends PositionMessage>(message: Message, position: number): Message {
  message.setCommitPosition(positionText(position))
  message.setPreparePosition(positionText(position))
  return message
}

interface ExpectedOptions {
  hasAny(): boolean
  hasNoStream(): boolean
  hasStreamExists(): boolean
}

/** The expected revision of a request. */
export interface ExpectedOnWire {
  readonly expected: ExpectedRevision
  /** The digits of the client if it named a revision. */
  readonly revision?: string
}

/** Parses an expected revision. Older clients send 2^64-1 for "no stream"; other values above 2^63-1 are invalid. */
export function parseExpected(options: ExpectedOptions, revision: string): ExpectedOnWire {
  if (options.hasAny()) return { expected: 'any' }
  if (options.hasNoStream() || isMaxUint64(revision)) return { expected: 'no_stream' }
  if (options.hasStreamExists()) return { expected: 'stream_exists' }
  return { expected: parseRevision(revision), revision }
}

export const empty = () => new shared.Empty()
export const googleEmpty = () => new protobufEmpty.Empty()
