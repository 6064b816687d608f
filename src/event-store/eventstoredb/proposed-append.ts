import { randomUUID } from 'node:crypto'
import type { BatchAppendReq } from '@eventstore/db-client/generated/streams_pb.js'
import { AppendTooLargeError, type ExpectedRevision, maxAppendBytes, type NewEvent } from '../event-store.js'
import { protobufEmpty, protobufTimestamp, shared, streams } from './generated.js'
import { identifierOf } from './requests.js'

/** Of everything in one append, metadata and types too. */
const maxAppendSize = 16 * 1024 * 1024
/** A server takes 16 MiB in one message; larger appends are sent in several. */
const messageBytes = 3 * 1024 * 1024
/** What an event counts beside its texts, so that the number of events in an append is limited too. */
const eventOverhead = 64

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const loneSurrogate = /\p{Surrogate}/u

/** An append as it is sent. */
export interface ProposedAppend {
  readonly correlationId: string
  readonly messages: readonly BatchAppendReq[]
  /** Bytes, about. */
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
  const correlationId = randomUUID()
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(identifierOf(stream))
  options.setDeadline(protobufTimestamp.Timestamp.fromDate(new Date(Date.now() + deadlineMs)))
  if (expectedRevision === 'no_stream') options.setNoStream(new protobufEmpty.Empty())
  else options.setStreamPosition(revisionText(expectedRevision))

  const next = () => new streams.BatchAppendReq().setCorrelationId(new shared.UUID().setString(correlationId))
  const messages = [next().setOptions(options)]
  let [size, dataBytes, inMessage] = [stream.length, 0, 0]
  for (const event of events) {
    const { message, data, bytes } = propose(event)
    if (inMessage + bytes > messageBytes && inMessage > 0) {
      messages.push(next())
      inMessage = 0
    }
    messages.at(-1)?.addProposedMessages(message)
    inMessage += bytes
    size += bytes
    dataBytes += data
  }
  if (dataBytes > maxAppendBytes)
    throw new AppendTooLargeError(`${stream}: ${dataBytes} bytes of event data; ${maxAppendBytes} are the limit`)
  if (size > maxAppendSize) throw new AppendTooLargeError(`${stream}: more than ${maxAppendSize} with metadata`)
  messages.at(-1)?.setIsFinal(true)
  return { correlationId, messages, size }
}

function propose(event: NewEvent) {
  if (!uuid.test(event.id)) throw new TypeError('an event id must be a UUID in lower case')
  checkText('an event type', event.type)
  if (typeof event.data !== 'object' || typeof event.metadata !== 'object')
    throw new TypeError(`${event.type}: data and metadata must be objects`)
  const data = Buffer.from(JSON.stringify(event.data))
  const metadata = Buffer.from(JSON.stringify(event.metadata))
  const message = new streams.BatchAppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(event.id))
    .setData(data)
    .setCustomMetadata(metadata)
  message.getMetadataMap().set('type', event.type).set('content-type', 'application/json')
  return { message, data: data.length, bytes: data.length + metadata.length + event.type.length + eventOverhead }
}

function revisionText(revision: number): string {
  if (!Number.isSafeInteger(revision) || revision < 0) throw new TypeError(`${revision} is no revision`)
  return `${revision}`
}

/** Lone surrogates would be stored as U+FFFD: two names would become one. */
function checkText(what: string, text: string): void {
  if (text === '' || loneSurrogate.test(text)) throw new TypeError(`${what} must be well-formed text, and not empty`)
}
