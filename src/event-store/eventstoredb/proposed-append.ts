import { randomUUID } from 'node:crypto'
import { AppendTooLargeError, type ExpectedRevision, maxAppendBytes, type NewEvent } from '../event-store.js'
import { encodeAppend, type Proposed } from './append-wire.js'

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
  readonly messages: readonly Buffer[]
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
    throw new TypeError(`${revision} is no revision`)
}

/** Lone surrogates would be stored as U+FFFD: two names would become one. */
function checkText(what: string, text: string): void {
  if (text === '' || loneSurrogate.test(text)) throw new TypeError(`${what} must be well-formed text, and not empty`)
}
