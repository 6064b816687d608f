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
const blobVersion = 1
const jsonFlag = 1
/** The length of a blob's header: version, flags, id, and the lengths of type and data. */
const blobHeader = 2 + 16 + 4 + 4
/** The index of the type's JSON text, after `["<id>",`. */
const typeAt = 40

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

export function decodeBody(body: Body): EventContent {
  return typeof body === 'string' ? decodeText(body) : decodeBlob(body)
}

export function idOfBody(body: Body): string {
  return typeof body === 'string' ? body.slice(2, 38) : idText(Buffer.from(body.buffer, body.byteOffset + 2, 16))
}

/** Parses UTF-8 text as a JSON object. Returns `undefined` if it is not one. */
export function parseObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(strict.decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

function objectText(bytes: Uint8Array): string | undefined {
  return parseObject(bytes) === undefined ? undefined : strict.decode(bytes)
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

function decodeBlob(bytes: Uint8Array): EventContent {
  const blob = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (blob[0] !== blobVersion) throw new Error(`unknown version ${blob[0]} of an event body`)
  const typeEnd = blobHeader + blob.readUInt32LE(18)
  const dataEnd = typeEnd + blob.readUInt32LE(22)
  return {
    id: idText(blob.subarray(2, 18)),
    type: blob.toString('utf8', blobHeader, typeEnd),
    isJson: (blob[1]! & jsonFlag) !== 0,
    data: blob.subarray(typeEnd, dataEnd),
    metadata: blob.subarray(dataEnd),
  }
}

function decodeText(text: string): EventContent {
  const typeEnd = stringEnd(text, typeAt)
  const dataEnd = objectEnd(text, typeEnd + 1)
  return {
    id: text.slice(2, 38),
    type: JSON.parse(text.slice(typeAt, typeEnd)) as string,
    isJson: true,
    data: Buffer.from(text.slice(typeEnd + 1, dataEnd)),
    metadata: Buffer.from(text.slice(dataEnd + 1, -1)),
  }
}

function idText(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Returns the index after the string that starts at `from`. */
function stringEnd(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === 92) backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
  throw new Error('an event body ends within a string')
}

/** Returns the index of the comma after the object that starts at `from`. */
function objectEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 34: // "
        at = stringEnd(text, at) - 1
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
  throw new Error('an event body ends within an object')
}
