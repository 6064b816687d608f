import type { StoredEvent } from '@transferd/event-log/streams'
import { positionScale, tombstoneRevision } from '@transferd/event-log/streams'
import type { Message } from 'google-protobuf'
import { linkOrEvent, type ResolvedEvent } from './resolved-event.js'

/** More than the bytes of an event's id, numbers, tags and lengths. */
const overheadBytes = 320
const ticksPerMs = 10_000

/**
 * Encodes the response with an event exactly as the generated code does: for `Streams.Read`, or for `PersistentSubscriptions.Read` if
 * there is a retry count. The generated code builds a tree of objects and a list of numbers for each event, which took almost half of
 * the processor time of a read. A tag is the number and the wire type of a field, as one byte.
 */
export function encodeEvent(resolved: ResolvedEvent, structuredIds: boolean, retryCount?: number): Buffer {
  const { event, link } = resolved
  const writer = new BackwardsWriter(maxBytesOf(event) + maxBytesOf(link))
  writer.field(0x0a, () => {
    if (retryCount !== undefined) writer.number(0x28, retryCount)
    writer.number(0x18, linkOrEvent(resolved).position * positionScale)
    if (link) writer.field(0x12, () => writeEvent(writer, link, structuredIds))
    if (event) writer.field(0x0a, () => writeEvent(writer, event, structuredIds))
  })
  return writer.written()
}

/** Returns the service with a method `read` that also sends responses of {@link encodeEvent}. */
export function acceptingEncoded<Service extends { read: object }>(service: Service): Service {
  const responseSerialize = (response: Buffer | Message) =>
    'serializeBinary' in response ? Buffer.from(response.serializeBinary()) : response
  return { ...service, read: { ...service.read, responseSerialize } }
}

function maxBytesOf(event: StoredEvent | undefined): number {
  if (event === undefined) return overheadBytes
  const { stream, type, data, metadata } = event
  return Buffer.byteLength(stream) + Buffer.byteLength(type) + data.length + metadata.length + overheadBytes
}

function writeEvent(writer: BackwardsWriter, event: StoredEvent, structuredIds: boolean): void {
  const { id, stream, revision, position, data, metadata } = event
  if (data.length > 0) writer.bytes(0x42, data)
  if (metadata.length > 0) writer.bytes(0x3a, metadata)
  // The generated code sorts the keys.
  writer.attribute('type', event.type)
  writer.attribute('created', String(event.recordedAtMs * ticksPerMs))
  writer.attribute('content-type', event.isJson ? 'application/json' : 'application/octet-stream')
  writer.number(0x28, position * positionScale)
  writer.number(0x20, position * positionScale)
  if (revision === tombstoneRevision) writer.bits(0x18, 0x7fff_ffff, 0xffff_ffff)
  else if (revision > 0) writer.number(0x18, revision)
  writer.field(0x12, () => writer.text(0x1a, stream))
  writer.field(0x0a, () => {
    if (structuredIds) writer.field(0x0a, () => writeStructuredId(writer, id))
    else writer.text(0x12, id)
  })
}

function writeStructuredId(writer: BackwardsWriter, id: string): void {
  const [a, b, c, d, e] = id.split('-') as [string, string, string, string, string]
  const least = [Number.parseInt(d + e.slice(0, 4), 16), Number.parseInt(e.slice(4), 16)] as const
  const most = [Number.parseInt(a, 16), Number.parseInt(b + c, 16)] as const
  // A value of 0 is not encoded.
  if (least[0] + least[1] > 0) writer.bits(0x10, ...least)
  if (most[0] + most[1] > 0) writer.bits(0x08, ...most)
}

/** Writes the last field first, because the length of a field precedes it. */
class BackwardsWriter {
  readonly #buffer: Buffer
  #at: number

  constructor(maxBytes: number) {
    this.#buffer = Buffer.allocUnsafe(maxBytes)
    this.#at = maxBytes
  }

  field(tag: number, writeContent: () => void): void {
    const end = this.#at
    writeContent()
    this.number(tag, end - this.#at)
  }

  attribute(key: string, value: string): void {
    this.field(0x32, () => {
      this.text(0x12, value)
      this.text(0x0a, key)
    })
  }

  text(tag: number, text: string): void {
    const length = Buffer.byteLength(text)
    this.#at -= length
    this.#buffer.write(text, this.#at)
    this.number(tag, length)
  }

  bytes(tag: number, bytes: Uint8Array): void {
    this.#at -= bytes.length
    this.#buffer.set(bytes, this.#at)
    this.number(tag, bytes.length)
  }

  number(tag: number, number: number): void {
    this.bits(tag, Math.floor(number / 2 ** 32), number >>> 0)
  }

  /** Writes 64 bits, seven per byte and the lowest first. */
  bits(tag: number, high: number, low: number): void {
    const end = this.#at
    let [h, l] = [high, low]
    for (this.#at -= 1; h > 0 || l >= 0x80; this.#at -= 1) {
      l = ((h << 25) | (l >>> 7)) >>> 0
      h >>>= 7
    }
    let at = this.#at
    this.#at -= 1
    this.#buffer[this.#at] = tag
    ;[h, l] = [high, low]
    for (; at < end - 1; at++) {
      this.#buffer[at] = (l & 0x7f) | 0x80
      l = ((h << 25) | (l >>> 7)) >>> 0
      h >>>= 7
    }
    this.#buffer[at] = l
  }

  written(): Buffer {
    return this.#buffer.subarray(this.#at)
  }
}
