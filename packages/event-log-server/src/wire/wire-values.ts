import type { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb.js'
import type { Expected } from '@transferd/event-log/streams'
import { positionScale, tombstoneRevision } from '@transferd/event-log/streams'
import { unforeseen } from './call-error.js'
import { protobufEmpty, shared } from './generated-protocol.js'

/** How single values look on the wire. */

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const maxInt64 = 2n ** 63n - 1n
const maxUint64 = 2n ** 64n - 1n

export function streamName(identifier: StreamIdentifier | undefined): string {
  const bytes = identifier?.getStreamName_asU8()
  if (bytes === undefined || bytes.length === 0) throw unforeseen()
  try {
    return utf8.decode(bytes)
  } catch {
    throw unforeseen()
  }
}

export function identifierOf(stream: string): StreamIdentifier {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
}

const plainId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const zeroId = '00000000-0000-0000-0000-000000000000'

/** Lower case, with dashes; undefined when it is none, or the zero id. */
export function idOf(uuid: UUID | undefined): string | undefined {
  // As nearly all come; to take each apart and put it together again was a tenth of an append.
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

/** With dashes, without, in braces or parentheses. */
function hexOf(text: string): string | undefined {
  const inner = /^\{(.*)\}$|^\((.*)\)$/.exec(text.trim())
  const id = (inner?.[1] ?? inner?.[2] ?? text.trim()).toLowerCase()
  const wellFormed = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$|^[0-9a-f]{32}$/.test(id)
  return wellFormed ? id.replaceAll('-', '') : undefined
}

export function uuidOf(id: string, structured: boolean): UUID {
  if (!structured) return new shared.UUID().setString(id)
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
  const bits = new shared.UUID.Structured()
  bits.setMostSignificantBits(`${bytes.readBigInt64BE(0)}`)
  bits.setLeastSignificantBits(`${bytes.readBigInt64BE(8)}`)
  return new shared.UUID().setStructured(bits)
}

export function revisionText(revision: number): string {
  return revision === tombstoneRevision ? `${maxInt64}` : `${revision}`
}

/** A revision a stream is read from; what is too large for a double lies behind every stream. */
export function revisionOf(text: string): number {
  const revision = BigInt(text)
  if (revision > maxInt64) throw unforeseen()
  return Number(revision)
}

export function isMaxUint64(text: string): boolean {
  return BigInt(text) === maxUint64
}

/** An event's position, or a place before (`start`) or behind (`end`) all of them. */
export type Place = number | 'start' | 'end' | 'beyond' | 'none'

/** `none` is no event's position. The prepare half may be left 0. */
export function placeOf(commitText: string, prepareText: string, lastPosition: number): Place {
  const commit = BigInt(commitText)
  const prepare = BigInt(prepareText)
  if (commit === maxUint64) return 'end'
  if (commit === 0n && prepare === 0n) return 'start'
  if (commit > maxInt64 || prepare > commit) return 'none'
  if (commit > BigInt(lastPosition) * BigInt(positionScale)) return 'beyond'
  if (commit % BigInt(positionScale) !== 0n || (prepare !== commit && prepare !== 0n)) return 'none'
  return Number(commit / BigInt(positionScale))
}

interface ExpectedOptions {
  hasAny(): boolean
  hasNoStream(): boolean
  hasStreamExists(): boolean
}

/** The expected revision, and as the client wrote it. */
export interface ExpectedOnWire {
  readonly expected: Expected
  /** Digits when it named a revision. */
  readonly revision?: string
}

/** 2^64-1 is what older clients send for "no stream"; what lies between is no revision. */
export function expectedOf(options: ExpectedOptions, revision: string): ExpectedOnWire {
  if (options.hasAny()) return { expected: 'any' }
  if (options.hasNoStream() || isMaxUint64(revision)) return { expected: 'no_stream' }
  if (options.hasStreamExists()) return { expected: 'stream_exists' }
  return { expected: revisionOf(revision), revision }
}

export const empty = () => new shared.Empty()
export const googleEmpty = () => new protobufEmpty.Empty()
