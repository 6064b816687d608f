import type { Status } from '@eventstore/db-client/generated/status_pb.js'
import type { Position } from '../event-store.js'
import { streams } from './generated.js'
import { idOf, positionOf } from './recorded-event.js'

/**
 * The messages of BatchAppend, byte for byte as the generated code writes them (event_store.client.streams in streams.proto). That builds a tree
 * of objects and a list of numbers for each: a third of the processor time that an append took here.
 */

/** Tags: a field's number and how it is written, as one byte. */
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
/** As a message, without its tag and length. */
const uuidMessage = 2 + uuidLength

export interface Options {
  readonly stream: string
  readonly expectedRevision: number | 'no_stream'
  readonly deadlineAtMs: number
}

export interface Proposed {
  readonly id: string
  readonly type: string
  /** JSON. */
  readonly data: string
  readonly metadata: string
}

/** What a message is of: the first of an append has the options, the last one is final. */
export interface AppendMessage {
  readonly correlationId: string
  readonly options?: Options
  readonly events: readonly Proposed[]
  readonly isFinal: boolean
}

/** The answer to one append. */
export type Answer = { readonly correlationId: string } & (
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
    writer.begin(requestTags.options, optionsLength)
    writeOptions(writer, options)
  }
  events.forEach((event, n) => {
    writer.begin(requestTags.proposed, lengths[n]!.whole)
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
  writer.begin(optionTags.stream, fieldLength(nameLength))
  writer.text(tags.streamName, stream, nameLength)
  if (expectedRevision === 'no_stream') writer.begin(optionTags.noStream, 0)
  else writer.number(optionTags.position, expectedRevision)
  writer.begin(optionTags.deadline, deadlineLength(deadlineAtMs))
  writer.number(tags.seconds, Math.floor(deadlineAtMs / 1_000))
  const rest = nanosOf(deadlineAtMs)
  if (rest !== 0) writer.number(tags.nanos, rest)
}

function nanosOf(atMs: number): number {
  return (atMs % 1_000) * 1_000_000
}

/** What is 0 is not written. */
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
  writer.begin(proposedTags.attribute, contentTypeLength)
  writer.text(tags.key, contentType[0], contentType[0].length)
  writer.text(tags.value, contentType[1], contentType[1].length)
  writer.begin(proposedTags.attribute, typeAttributeLength(type))
  writer.text(tags.key, 'type', 'type'.length)
  writer.text(tags.value, event.type, type)
  writer.text(proposedTags.metadata, event.metadata, metadata)
  writer.text(proposedTags.data, event.data, data)
}

/** A field of this length, with its tag. */
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

  /** A field of so many bytes, which come next. */
  begin(tag: number, length: number): void {
    this.#bytes[this.#at++] = tag
    this.#varint(length)
  }

  text(tag: number, text: string, length: number): void {
    this.begin(tag, length)
    this.#at += this.#bytes.write(text, this.#at, 'utf8')
  }

  uuid(tag: number, id: string): void {
    this.begin(tag, uuidMessage)
    this.begin(tags.uuidString, uuidLength)
    this.#at += this.#bytes.write(id, this.#at, 'latin1')
  }

  number(tag: number, number: number): void {
    this.#bytes[this.#at++] = tag
    this.#varint(number)
  }

  written(): Buffer {
    if (this.#at !== this.#bytes.length) throw new Error('a message has another length than was counted')
    return this.#bytes
  }

  /** Seven bits a byte, the lowest first; a safe integer has more than the operators on bits take. */
  #varint(number: number): void {
    let rest = number
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#bytes[this.#at++] = (rest % 0x80) | 0x80
    this.#bytes[this.#at++] = rest
  }
}

/** What is not a plain success is left to the generated code. */
export function decodeAnswer(bytes: Buffer): Answer {
  return successOf(bytes) ?? anyAnswer(bytes)
}

function successOf(bytes: Buffer): Answer | undefined {
  const reader = new Reader(bytes)
  let correlationId: string | undefined
  let success: Buffer | undefined
  while (reader.more) {
    const tag = reader.byte()
    // The stream and the expectation come back as they were sent.
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

function succeeded(correlationId: string, success: Buffer): Answer | undefined {
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

  /** Undefined for what is no safe integer, or cut off. */
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

function anyAnswer(bytes: Buffer): Answer {
  const response = streams.BatchAppendResp.deserializeBinary(bytes)
  const correlationId = idOf(response.getCorrelationId())
  const [error, success] = [response.getError(), response.getSuccess()]
  if (error !== undefined) return { correlationId, error }
  if (success === undefined) return { correlationId, isEmpty: true }
  const position = success.getPosition()
  return { correlationId, revision: Number(success.getCurrentRevision()), position: position && positionOf(position) }
}
