import { hash } from 'node:crypto'

/** Returns a position of the log as the `Position` of an event. */
export function toPosition(position: number): { readonly commit: bigint; readonly prepare: bigint } {
  const half = BigInt(position)
  return { commit: half, prepare: half }
}

/**
 * The factor between the log's positions, which are 1, 2, 3, …, and those that clients of the protocol see. It lets the server
 * reject a position without an event, such as a calculated one or one from a different log, as EventStoreDB does.
 */
export const positionScale = 64

/** Returns a position of the log as clients of the protocol see it. */
export function positionText(position: number): string {
  return `${position * positionScale}`
}

/** Returns the first position of the log at or after a position that a client sent. */
export function positionAtOrAfter(text: string): number {
  const scale = BigInt(positionScale)
  return Number((BigInt(text) + scale - 1n) / scale)
}

/**
 * The type of an event whose stored bytes cannot be read as one: they were damaged, or another program wrote them. Its data has the bytes as
 * `base64`, and its id is the one that they start with, or a digest of all of them.
 */
export const damagedType = '$damaged'

/** An event's content as a client of the protocol sends it. Its bytes are stored unchanged. */
export interface EventContent {
  /** The event's id, a UUID in lower case. */
  readonly id: string
  readonly type: string
  readonly isJson: boolean
  readonly data: Uint8Array
  /** The metadata; empty if the event has none. */
  readonly metadata: Uint8Array
}

/** The stored form: the JSON text of `[id, type, data, metadata]`, or a blob (see {@link encodeBody}). */
export type Body = string | Uint8Array

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** The start of a text, `["<id>",`. Without repetitions of groups it takes half the time. */
const startPattern = /^\["[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",/
const blobVersion = 1
const jsonFlag = 1
/** The length of a blob's header: version, flags, id, and the lengths of type and data. */
const blobHeader = 2 + 16 + 4 + 4
/** The index of the type's JSON text, after `["<id>",`. */
const typeAt = 40
const replacementCharacter = '\ufffd'

/**
 * Encodes an event. If data and metadata are JSON objects, the result is the text that plain appends write, with the text of both
 * unchanged. All other content (binary data, other JSON, no metadata) becomes a blob.
 */
export function encodeBody(content: EventContent): Body {
  const data = content.isJson ? objectText(content.data) : undefined
  const metadata = data === undefined ? undefined : objectText(content.metadata)
  if (data === undefined || metadata === undefined) return encodeBlob(content)
  return `["${content.id}",${JSON.stringify(content.type)},${data},${metadata}]`
}

/** Returns the content of a stored body, which has the type {@link damagedType} if it is damaged. */
export function decodeBody(body: Body): EventContent {
  const content = typeof body === 'string' ? decodeText(body) : decodeBlob(body)
  return content ?? damagedContent(body)
}

/** Returns the id that a body starts with. Ids that are no UUIDs come from damaged bodies only. */
export function idOfBody(body: Body): string {
  if (typeof body === 'string') return body.slice(2, 38)
  return body.length < blobHeader ? '' : idText(Buffer.from(body.buffer, body.byteOffset + 2, 16))
}

type ParsedBody = [id: string, type: string, data: Record<string, unknown>, metadata: Record<string, unknown>]

/** Parses a stored body. Data and metadata that are no JSON objects become empty objects. */
export function parseBody(body: Body): ParsedBody {
  const parsed = typeof body === 'string' ? parseText(body) : parseBlob(body)
  if (parsed) return parsed
  const { id, type, data } = damagedContent(body)
  return [id, type, parseObject(data)!, {}]
}

function parseText(text: string): ParsedBody | undefined {
  const parsed = startsWithId(text) ? parsedJson(text) : undefined
  const isEvent =
    Array.isArray(parsed) &&
    parsed.length === 4 &&
    typeof parsed[1] === 'string' &&
    isObject(parsed[2]) &&
    isObject(parsed[3])
  return isEvent ? (parsed as ParsedBody) : undefined
}

function parseBlob(blob: Uint8Array): ParsedBody | undefined {
  const content = decodeBlob(blob)
  if (content === undefined) return undefined
  const { id, type, isJson, data, metadata } = content
  return [id, type, (isJson && parseObject(data)) || {}, parseObject(metadata) ?? {}]
}

function damagedContent(body: Body): EventContent {
  const bytes = Buffer.from(body as Uint8Array)
  const start = bytes.toString('latin1', 0, typeAt)
  const id = startsWithId(start) ? start.slice(2, 38) : idText(hash('sha256', bytes, 'buffer'))
  const data = Buffer.from(JSON.stringify({ base64: bytes.toString('base64') }))
  return { id, type: damagedType, isJson: true, data, metadata: Buffer.from('{}') }
}

/** Returns whether the text starts as that of every event does. */
export function startsWithId(text: string): boolean {
  return startPattern.test(text)
}

/** Returns whether a column's value is a body as it is stored. SQLite's binding replaces bytes that are not UTF-8. */
export function isIntact(value: unknown): value is Body {
  return typeof value === 'string' ? !value.includes(replacementCharacter) : value instanceof Uint8Array
}

/** Selects the bytes of the body at a position as SQLite stores them. */
export const bytesOfBody = 'SELECT CAST(body AS BLOB) FROM events WHERE position = ?'

/**
 * Returns the body of a column's value. Text that is not UTF-8 and values that are neither text nor bytes become the bytes that SQLite
 * stores, which `bytesOf` reads.
 */
export function bodyOf(value: unknown, bytesOf: () => Uint8Array | null): Body {
  if (isIntact(value)) return value
  const bytes = bytesOf() ?? new Uint8Array(0)
  // A text may contain the replacement character itself.
  return typeof value === 'string' && Buffer.from(value).equals(bytes) ? value : bytes
}

/** Parses UTF-8 text as a JSON object. Returns `undefined` if it is not one. */
export function parseObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  const value = parseJson(bytes)
  return isObject(value) ? value : undefined
}

/** Parses UTF-8 text as JSON. Returns `undefined` if it is not JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = textOf(bytes)
  return text === undefined ? undefined : parsedJson(text)
}

/** Returns `undefined` for bytes that are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectText(bytes: Uint8Array): string | undefined {
  const text = textOf(bytes)
  return text !== undefined && isObject(parsedJson(text)) ? text : undefined
}

function encodeBlob({ id, type, isJson, data, metadata }: EventContent): Uint8Array {
  const typeBytes = Buffer.from(type)
  const blob = Buffer.allocUnsafe(blobHeader + typeBytes.length + data.length + metadata.length)
  blob[0] = blobVersion
  blob[1] = isJson ? jsonFlag : 0
  blob.write(id.replaceAll('-', ''), 2, 'hex')
  blob.writeUInt32LE(typeBytes.length, 18)
  blob.writeUInt32LE(data.length, 22)
  blob.set(typeBytes, blobHeader)
  blob.set(data, blobHeader + typeBytes.length)
  blob.set(metadata, blobHeader + typeBytes.length + data.length)
  return blob
}

function decodeBlob(bytes: Uint8Array): EventContent | undefined {
  const blob = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (blob.length < blobHeader || blob[0] !== blobVersion || blob[1]! > jsonFlag) return undefined
  const typeEnd = blobHeader + blob.readUInt32LE(18)
  const dataEnd = typeEnd + blob.readUInt32LE(22)
  const type = dataEnd > blob.length ? undefined : textOf(blob.subarray(blobHeader, typeEnd))
  if (type === undefined) return undefined
  return {
    id: idText(blob.subarray(2, 18)),
    type,
    isJson: blob[1] === jsonFlag,
    data: blob.subarray(typeEnd, dataEnd),
    metadata: blob.subarray(dataEnd),
  }
}

/** Cuts the text where its values end, without parsing data and metadata, which are spaced as the client wrote them. */
function decodeText(text: string): EventContent | undefined {
  const typeEnd = stringEnd(text, typeAt)
  const dataEnd = objectEnd(text, typeEnd + 1)
  const type = parsedJson(text.slice(typeAt, typeEnd))
  const isEvent =
    startsWithId(text) && typeof type === 'string' && dataEnd >= 0 && text[typeEnd] === ',' && text.endsWith(']')
  if (!isEvent) return undefined
  return {
    id: text.slice(2, 38),
    type,
    isJson: true,
    data: Buffer.from(text.slice(typeEnd + 1, dataEnd)),
    metadata: Buffer.from(text.slice(dataEnd + 1, -1)),
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the UUID of the first 16 bytes. */
function idText(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Returns the index after the string that starts at `from`, or -1 if it does not end. */
function stringEnd(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === 92) backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
  return -1
}

/** Returns the index of the comma after the object that starts at `from`, or -1 if it does not end. */
function objectEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 34: // "
        at = stringEnd(text, at) - 1
        if (at < 0) return -1
        break
      case 123: // {
      case 91: // [
        depth++
        break
      case 125: // }
      case 93: // ]
        depth--
        break
      case 44: // ,
        if (depth === 0) return at
        break
    }
  }
  return -1
}
