import { randomUUID } from 'node:crypto'
import type { Status } from '@eventstore/db-client/generated/status_pb.js'
import {
  AppendTooLargeError,
  type ExpectedRevision,
  maxAppendBytes,
  type NewEvent,
  type Position,
} from '../event-store.js'
import { streams } from './generated.js'
import { idOf, positionOf } from './recorded-event.js'

/**
 * Encodes the messages of BatchAppend exactly as the generated code does (event_store.client.streams in streams.proto). The generated code
 * builds a tree of objects and a list of numbers for each message, which took a third of the processor time of an append.
 */

/** Tags: the number and the wire type of a field, as one byte. */
const requestTags = { correlation: 0x0a, options: 0x12, proposed: 0x1a, isFinal: 0x20 } as const
const optionTags = { stream: 0x0a, position: 0x10, noStream: 0x1a, deadline: 0x32 } as const
const proposedTags = { id: 0x0a, attribute: 0x12, metadata: 0x1a, data: 0x22 } as const
const responseTags = { correlation: 0x0a, success: 0x1a, streamPosition: 0x28, others: [0x22, 0x32, 0x3a, 0x42] }
const successTags = { revision: 0x08, position: 0x1a } as const
const tags = {
  uuidString: 0x12,
  streamName: 0x1a,
  key: 0x0a,
  value: 0x12,
  seconds: 0x08,
  nanos: 0x10,
  commit: 0x08,
  prepare: 0x10,
}

const uuidLength = 36
/** The length of a UUID message without its tag and length. */
const uuidMessage = 2 + uuidLength

interface Options {
  readonly stream: string
  readonly expectedRevision: number | 'no_stream'
  readonly deadlineAtMs: number
}

interface Proposed {
  readonly id: string
  readonly type: string
  /** JSON, like the metadata. */
  readonly data: string
  readonly metadata: string
}

/** A message of an append: the first one has the options, the last one is final. */
export interface AppendMessage {
  readonly correlationId: string
  readonly options?: Options
  readonly events: readonly Proposed[]
  readonly isFinal: boolean
}

/** The response to one append. */
export type AppendResponse = { readonly correlationId: string } & (
  | { readonly revision: number; readonly position: Position | undefined }
  | { readonly error: Status }
  | { readonly isEmpty: true }
)

export function encodeAppend({ correlationId, options, events, isFinal }: AppendMessage): Buffer {
  const optionsLength = options === undefined ? 0 : lengthOfOptions(options)
  const lengths = events.map(lengthsOf)
  let size = fieldLength(uuidMessage) + (options === undefined ? 0 : fieldLength(optionsLength)) + (isFinal ? 2 : 0)
  for (const { whole } of lengths) size += fieldLength(whole)
  const writer = new Writer(size)
  writer.uuid(requestTags.correlation, correlationId)
  if (options) {
    writer.startField(requestTags.options, optionsLength)
    writeOptions(writer, options)
  }
  events.forEach((event, n) => {
    writer.startField(requestTags.proposed, lengths[n]!.whole)
    writeEvent(writer, event, lengths[n]!)
  })
  if (isFinal) writer.number(requestTags.isFinal, 1)
  return writer.written()
}

function lengthOfOptions({ stream, expectedRevision, deadlineAtMs }: Options): number {
  const expected = expectedRevision === 'no_stream' ? 2 : 1 + varintLength(expectedRevision)
  const name = fieldLength(Buffer.byteLength(stream))
  return fieldLength(name) + expected + fieldLength(deadlineLength(deadlineAtMs))
}

function writeOptions(writer: Writer, { stream, expectedRevision, deadlineAtMs }: Options): void {
  const nameLength = Buffer.byteLength(stream)
  writer.startField(optionTags.stream, fieldLength(nameLength))
  writer.text(tags.streamName, stream, nameLength)
  if (expectedRevision === 'no_stream') writer.startField(optionTags.noStream, 0)
  else writer.number(optionTags.position, expectedRevision)
  writer.startField(optionTags.deadline, deadlineLength(deadlineAtMs))
  writer.number(tags.seconds, Math.floor(deadlineAtMs / 1_000))
  const rest = nanosOf(deadlineAtMs)
  if (rest !== 0) writer.number(tags.nanos, rest)
}

function nanosOf(atMs: number): number {
  return (atMs % 1_000) * 1_000_000
}

/** A value of 0 is not encoded. */
function deadlineLength(atMs: number): number {
  const rest = nanosOf(atMs)
  return 1 + varintLength(Math.floor(atMs / 1_000)) + (rest === 0 ? 0 : 1 + varintLength(rest))
}

interface Lengths {
  readonly type: number
  readonly data: number
  readonly metadata: number
  readonly whole: number
}

const contentType = ['content-type', 'application/json'] as const
const contentTypeLength = fieldLength(contentType[0].length) + fieldLength(contentType[1].length)

function lengthsOf(event: Proposed): Lengths {
  const type = Buffer.byteLength(event.type)
  const data = Buffer.byteLength(event.data)
  const metadata = Buffer.byteLength(event.metadata)
  const attributes = fieldLength(typeAttributeLength(type)) + fieldLength(contentTypeLength)
  const whole = fieldLength(uuidMessage) + attributes + fieldLength(metadata) + fieldLength(data)
  return { type, data, metadata, whole }
}

function typeAttributeLength(type: number): number {
  return fieldLength('type'.length) + fieldLength(type)
}

function writeEvent(writer: Writer, event: Proposed, { type, data, metadata }: Lengths): void {
  writer.uuid(proposedTags.id, event.id)
  writer.startField(proposedTags.attribute, contentTypeLength)
  writer.text(tags.key, contentType[0], contentType[0].length)
  writer.text(tags.value, contentType[1], contentType[1].length)
  writer.startField(proposedTags.attribute, typeAttributeLength(type))
  writer.text(tags.key, 'type', 'type'.length)
  writer.text(tags.value, event.type, type)
  writer.text(proposedTags.metadata, event.metadata, metadata)
  writer.text(proposedTags.data, event.data, data)
}

/** Returns the length of a field with its tag. */
function fieldLength(length: number): number {
  return 1 + varintLength(length) + length
}

function varintLength(of: number): number {
  let length = 1
  for (let rest = of; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++
  return length
}

class Writer {
  readonly #bytes: Buffer
  #at = 0

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size)
  }

  /** Writes the tag and the length of a field whose content follows. */
  startField(tag: number, length: number): void {
    this.#bytes[this.#at++] = tag
    this.#varint(length)
  }

  text(tag: number, text: string, length: number): void {
    this.startField(tag, length)
    this.#at += this.#bytes.write(text, this.#at, 'utf8')
  }

  uuid(tag: number, id: string): void {
    this.startField(tag, uuidMessage)
    this.startField(tags.uuidString, uuidLength)
    this.#at += this.#bytes.write(id, this.#at, 'latin1')
  }

  number(tag: number, number: number): void {
    this.#bytes[this.#at++] = tag
    this.#varint(number)
  }

  written(): Buffer {
    if (this.#at !== this.#bytes.length) throw new Error('the length of a message differs from its calculated length')
    return this.#bytes
  }

  /** Writes seven bits per byte, the lowest first. A safe integer has more bits than bitwise operators support. */
  #varint(number: number): void {
    let rest = number
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#bytes[this.#at++] = (rest % 0x80) | 0x80
    this.#bytes[this.#at++] = rest
  }
}

/** Decodes a response. The generated code decodes everything except a plain success. */
export function decodeResponse(bytes: Buffer): AppendResponse {
  return successOf(bytes) ?? anyResponse(bytes)
}

function successOf(bytes: Buffer): AppendResponse | undefined {
  const reader = new Reader(bytes)
  let correlationId: string | undefined
  let success: Buffer | undefined
  while (reader.more) {
    const tag = reader.byte()
    // The response repeats the stream and the expected revision.
    if (tag === responseTags.streamPosition) {
      if (reader.varint() === undefined) return undefined
      continue
    }
    const field = reader.field()
    if (field === undefined) return undefined
    if (tag === responseTags.correlation) correlationId = idIn(field)
    else if (tag === responseTags.success) success = field
    else if (!responseTags.others.includes(tag)) return undefined
  }
  return correlationId === undefined || success === undefined ? undefined : succeeded(correlationId, success)
}

function idIn(uuid: Buffer): string | undefined {
  return uuid.length === uuidMessage && uuid[0] === tags.uuidString && uuid[1] === uuidLength
    ? uuid.toString('latin1', 2).toLowerCase()
    : undefined
}

function succeeded(correlationId: string, success: Buffer): AppendResponse | undefined {
  const reader = new Reader(success)
  if (!reader.more || reader.byte() !== successTags.revision) return undefined
  const revision = reader.varint()
  if (revision === undefined || !reader.more || reader.byte() !== successTags.position) return undefined
  const position = reader.field()
  if (position === undefined || reader.more) return undefined
  const halves = new Reader(position)
  if (!halves.more || halves.byte() !== tags.commit) return undefined
  const first = halves.varint()
  if (first === undefined || !halves.more || halves.byte() !== tags.prepare) return undefined
  const second = halves.varint()
  if (second === undefined || halves.more) return undefined
  return { correlationId, revision, position: { commit: BigInt(first), prepare: BigInt(second || first) } }
}

class Reader {
  #at = 0

  constructor(private readonly bytes: Buffer) {}

  get more(): boolean {
    return this.#at < this.bytes.length
  }

  byte(): number {
    return this.bytes[this.#at++]!
  }

  /** Returns `undefined` if the number is not a safe integer or is truncated. */
  varint(): number | undefined {
    let number = 0
    for (let weight = 1; this.more; weight *= 0x80) {
      const byte = this.byte()
      number += (byte & 0x7f) * weight
      if (!Number.isSafeInteger(number)) return undefined
      if (byte < 0x80) return number
    }
    return undefined
  }

  field(): Buffer | undefined {
    const length = this.varint()
    if (length === undefined || this.#at + length > this.bytes.length) return undefined
    this.#at += length
    return this.bytes.subarray(this.#at - length, this.#at)
  }
}

function anyResponse(bytes: Buffer): AppendResponse {
  const response = streams.BatchAppendResp.deserializeBinary(bytes)
  const correlationId = idOf(response.getCorrelationId())
  const [error, success] = [response.getError(), response.getSuccess()]
  if (error !== undefined) return { correlationId, error }
  if (success === undefined) return { correlationId, isEmpty: true }
  const position = success.getPosition()
  return { correlationId, revision: Number(success.getCurrentRevision()), position: position && positionOf(position) }
}

/** The largest size of an append, including metadata and types. */
const maxAppendSize = 16 * 1024 * 1024
/** The size of a message. A server accepts 16 MiB per message, so larger appends take several. */
const messageBytes = 3 * 1024 * 1024
/** The size that an event counts in addition to its texts, which limits the number of events in an append. */
const eventOverhead = 64

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const loneSurrogate = /\p{Surrogate}/u

/** The messages of an append. */
export interface ProposedAppend {
  readonly correlationId: string
  readonly messages: readonly Buffer[]
  /** The approximate number of bytes. */
  readonly size: number
}

/** @throws AppendTooLargeError, TypeError */
export function proposeAppend(
  stream: string,
  expectedRevision: ExpectedRevision,
  events: readonly NewEvent[],
  deadlineMs: number,
): ProposedAppend {
  checkText('a stream name', stream)
  checkRevision(expectedRevision)
  const correlationId = randomUUID()
  const parts: Proposed[][] = [[]]
  let [size, dataBytes, inPart] = [stream.length, 0, 0]
  for (const event of events) {
    const { proposed, data, bytes } = propose(event)
    if (inPart + bytes > messageBytes && inPart > 0) {
      parts.push([])
      inPart = 0
    }
    parts.at(-1)?.push(proposed)
    inPart += bytes
    size += bytes
    dataBytes += data
  }
  if (dataBytes > maxAppendBytes)
    throw new AppendTooLargeError(`${stream}: ${dataBytes} bytes of event data; ${maxAppendBytes} are the limit`)
  if (size > maxAppendSize) throw new AppendTooLargeError(`${stream}: more than ${maxAppendSize} with metadata`)
  const options = { stream, expectedRevision, deadlineAtMs: Date.now() + deadlineMs }
  const messages = parts.map((part, n) => {
    const isFinal = n === parts.length - 1
    return encodeAppend({ correlationId, events: part, isFinal, ...(n === 0 && { options }) })
  })
  return { correlationId, messages, size }
}

function propose(event: NewEvent) {
  if (!uuid.test(event.id)) throw new TypeError('an event id must be a UUID in lower case')
  checkText('an event type', event.type)
  if (typeof event.data !== 'object' || typeof event.metadata !== 'object')
    throw new TypeError(`${event.type}: data and metadata must be objects`)
  const proposed: Proposed = {
    ...{ id: event.id, type: event.type },
    ...{ data: JSON.stringify(event.data), metadata: JSON.stringify(event.metadata) },
  }
  const data = Buffer.byteLength(proposed.data)
  return { proposed, data, bytes: data + Buffer.byteLength(proposed.metadata) + event.type.length + eventOverhead }
}

function checkRevision(revision: ExpectedRevision): void {
  if (revision !== 'no_stream' && (!Number.isSafeInteger(revision) || revision < 0))
    throw new TypeError(`${revision} is not a revision`)
}

/** Rejects lone surrogates, which would be stored as U+FFFD: two different names would become equal. */
function checkText(what: string, text: string): void {
  if (text === '' || loneSurrogate.test(text)) throw new TypeError(`${what} must be well-formed text, and not empty`)
}
