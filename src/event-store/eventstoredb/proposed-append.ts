import { randomUUID } from 'node:crypto'
import { AppendTooLargeError, type ExpectedRevision, maxAppendBytes, type NewEvent } from '../event-store.js'
import { encodeAppend, type Proposed } from './append-wire.js'

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
