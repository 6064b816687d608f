import { randomUUID } from 'node:crypto'
import type { MessagePort } from 'node:worker_threads'
import {
  type Append,
  type AppendResult,
  AppendTooLargeError,
  eventText,
  jsonText,
  KeyReservedError,
  maxAppendBytes,
  StoreUnavailableError,
  StreamDeletedError,
  WrongExpectedRevisionError,
  withReservedKeys,
} from '../event-log-types.js'
import { toPosition } from '../file/event-body.js'
import {
  type Batch,
  encodeExpected,
  type FromWriter,
  noRevision,
  type Operation,
  resultKind,
  resultLength,
} from './writer-messages.js'

/** The number of calls in a message. With more, the writer idles while the message is built; with fewer, it syncs too often. */
const batchUnits = 256
/** The number of calls that are sent before the end of the turn if the writer is idle. */
const earlyUnits = 32
/** The size in UTF-16 units above which a message accepts no further calls. */
const batchSize = 4 * 1024 * 1024
/** The number of unanswered messages. With two, the writer works on one while this thread processes the results of the other. */
const maxInFlight = 2
/** The number of waiting calls, and of their UTF-16 units, above which further calls are rejected. */
const maxWaitingUnits = 50_000
const maxWaitingSize = 256 * 1024 * 1024
/** The maximum size in UTF-16 units of an append, including metadata and types. It is EventStoreDB's limit for a message. */
const maxAppendSize = 16 * 1024 * 1024
/** The size added for each event, which also limits the number of events in an append. */
const eventOverhead = 64

const closedReason = 'the event store is closed'

export type Outcome =
  /** The position is omitted if the event is no longer visible. */
  | { readonly kind: 'ok'; readonly revision: number; readonly position?: number }
  /** The actual revision is -1 if the stream has no event. */
  | { readonly kind: 'wrong_revision'; readonly actual: number }
  | { readonly kind: 'deleted' }

interface Unit {
  /** The number of results of this unit. */
  readonly count: number
  /** Settles the call with the results from this index on. */
  readonly settle: (results: Float64Array, from: number) => void
  readonly reject: (error: Error) => void
}

interface Message {
  readonly batch: Batch
  readonly units: Unit[]
  size: number
}

const surrogate = /[\ud800-\udfff]/
const loneSurrogate = /\p{Surrogate}/u
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Sends one thread's appends to the writer thread. The calls of one turn of the event loop share a message. */
export class WriterClient {
  #port: MessagePort | undefined
  #collected: Message[] = []
  #inFlight: Message[] = []
  #waitingUnits = 0
  #waitingSize = 0
  #isScheduled = false
  #closeReason: string | undefined
  #onIdle: (() => void) | undefined
  #onFirstUse: (() => void) | undefined

  constructor(private readonly onCommitted: (position: number) => void) {}

  /** Sets a callback that runs once, before the first append is sent. */
  onFirstUse(start: () => void): void {
    this.#onFirstUse = start
  }

  /** Connects to a new writer. Calls that the previous writer has not answered fail. */
  connect(port: MessagePort): void {
    this.#failAll(this.#inFlight, 'the log writer was replaced')
    this.#port = port
    port.on('message', (message: FromWriter) => {
      // Ignore messages of a replaced writer, which would be mistaken for those of the new one.
      if (this.#port === port) this.#receive(message)
    })
    port.on('close', () => {
      if (this.#port === port) this.disconnect('the log writer is gone')
    })
    this.#schedule()
  }

  disconnect(reason: string): void {
    this.#port?.close()
    this.#port = undefined
    this.#failAll(this.#inFlight, reason)
    this.#failAll(this.#collected, reason)
  }

  /** Rejects all further calls with this reason. */
  end(reason: string): void {
    this.#closeReason ??= reason
    this.disconnect(reason)
  }

  /**
   * Appends and calls one of the callbacks once, unless it throws. It creates no promise, because the caller already creates one.
   * @throws StoreUnavailableError, AppendTooLargeError, TypeError
   */
  append(
    appends: readonly Append[],
    resolve: (results: readonly AppendResult[]) => void,
    reject: (error: Error) => void,
  ): void {
    this.#collect((batch) => encodeUnit(appends, batch), {
      count: appends.length,
      settle: (results, from) => settleAppends(appends, results, from, resolve, reject),
      reject,
    })
  }

  /** @throws StoreUnavailableError */
  execute(operation: Operation): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const settle = (results: Float64Array, from: number) => resolve(outcomeOf(results, from))
      this.#collect((batch) => encodeOperation(operation, batch), { count: 1, settle, reject })
    })
  }

  /** @param encode Adds the unit to the batch and returns its size. */
  #collect(encode: (batch: Batch) => number, unit: Unit): void {
    if (this.#closeReason !== undefined) throw new StoreUnavailableError(this.#closeReason)
    if (this.#waitingUnits >= maxWaitingUnits || this.#waitingSize >= maxWaitingSize) {
      throw new StoreUnavailableError(`${this.#waitingUnits} appends are already waiting for the log`)
    }
    const message = this.#message()
    const size = encode(message.batch)
    message.units.push(unit)
    message.size += size
    this.#waitingUnits += 1
    this.#waitingSize += size
    this.#onFirstUse?.()
    this.#onFirstUse = undefined
    this.#schedule()
    // Do not wait for the end of the turn: the writer would idle until then, and this thread until the commit.
    if (message.units.length === earlyUnits && this.#inFlight.length === 0) this.#send()
  }

  /** Rejects new appends and waits for the results of the others. */
  async close(): Promise<void> {
    this.#closeReason = closedReason
    if (this.#waitingUnits > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    this.disconnect(closedReason)
  }

  #message(): Message {
    const last = this.#collected.at(-1)
    if (last !== undefined && last.units.length < batchUnits && last.size < batchSize) return last
    const message: Message = { batch: [], units: [], size: 0 }
    this.#collected.push(message)
    return message
  }

  #schedule(): void {
    if (this.#isScheduled || this.#collected.length === 0) return
    this.#isScheduled = true
    // Send at the end of the turn, so that all calls of this turn share a message and a sync.
    setImmediate(() => {
      this.#isScheduled = false
      this.#send()
    })
  }

  #send(): void {
    while (this.#port !== undefined && this.#inFlight.length < maxInFlight) {
      const message = this.#collected.shift()
      if (message === undefined) return
      this.#inFlight.push(message)
      this.#port.postMessage(message.batch)
    }
  }

  #receive(message: FromWriter): void {
    if (message.kind === 'failed') {
      this.#failAll(this.#inFlight.splice(0, 1), message.reason)
      this.#schedule()
      return
    }
    this.onCommitted(message.committed)
    if (message.kind === 'results') this.#settle(message.results)
  }

  #settle(results: Float64Array): void {
    const message = this.#inFlight.shift()
    if (message === undefined) throw new Error('the log writer sent results for no batch')
    let from = 0
    for (const unit of message.units) {
      unit.settle(results, from)
      from += unit.count * resultLength
    }
    this.#finish(message)
    this.#schedule()
  }

  #failAll(messages: Message[], reason: string): void {
    for (const message of messages.splice(0)) {
      for (const unit of message.units) unit.reject(new StoreUnavailableError(`not written: ${reason}`))
      this.#finish(message)
    }
  }

  #finish(message: Message): void {
    this.#waitingUnits -= message.units.length
    this.#waitingSize -= message.size
    if (this.#waitingUnits === 0) this.#onIdle?.()
  }
}

function settleAppends(
  appends: readonly Append[],
  results: Float64Array,
  from: number,
  resolve: (results: readonly AppendResult[]) => void,
  reject: (error: Error) => void,
): void {
  const appended: AppendResult[] = []
  let at = from
  for (const { stream, expectedRevision } of appends) {
    const revision = results[at + 1] ?? noRevision
    if (results[at] === resultKind.deleted) {
      reject(new StreamDeletedError(stream))
      return
    }
    if (results[at] === resultKind.reserved) {
      reject(new KeyReservedError(stream))
      return
    }
    if (results[at] !== resultKind.appended) {
      const actual = revision === noRevision ? 'no_stream' : revision
      reject(new WrongExpectedRevisionError(stream, expectedRevision, actual))
      return
    }
    appended.push({ revision, position: toPosition(results[at + 2] ?? 0) })
    at += resultLength
  }
  resolve(appended)
}

function outcomeOf(results: Float64Array, from: number): Outcome {
  const [kind, revision = 0, position = 0] = results.subarray(from, from + resultLength)
  switch (kind) {
    case resultKind.appended:
      return { kind: 'ok', revision, ...(position > 0 && { position }) }
    case resultKind.rejected:
      return { kind: 'wrong_revision', actual: revision }
    default:
      return { kind: 'deleted' }
  }
}

function encodeOperation(operation: Operation, batch: Batch): number {
  batch.push(operation)
  let size = operation.stream.length
  if (operation.kind === 'append') for (const body of operation.bodies) size += body.length + eventOverhead
  return size
}

/** Adds appends to the batch and returns their size. If it throws, the batch is unchanged. @throws AppendTooLargeError, TypeError */
function encodeUnit(appends: readonly Append[], batch: Batch): number {
  const before = batch.length
  try {
    batch.push(appends.length)
    let size = 0
    for (const append of appends) size += encodeAppend(append, batch)
    return size
  } catch (error) {
    batch.length = before
    throw error
  }
}

/** Adds one append to the batch and returns its size. @throws AppendTooLargeError, TypeError */
export function encodeAppend(append: Append, batch: Batch): number {
  const { stream, expectedRevision, events, reserves = noKeys, reservedFor = stream } = withReservedKeys(append)
  checkText('a stream name', stream)
  batch.push(stream, encodeExpected(expectedRevision), events.length, reserves.length)
  let size = stream.length
  for (const event of events) {
    const body = encodeEvent(event)
    batch.push(body)
    size += body.length + eventOverhead
  }
  if (reserves.length > 0) batch.push(reservedFor, ...reserves)
  // A UTF-16 unit has at most three bytes in UTF-8, so count the bytes only if they could exceed the limit.
  if (size * 3 > maxAppendBytes) checkDataBytes(append)
  if (size > maxAppendSize)
    throw new AppendTooLargeError(`${append.stream}: larger than ${maxAppendSize} with metadata`)
  return size
}

const noKeys: readonly string[] = []

function encodeEvent({ id = randomUUID(), type, data, metadata = '{}' }: Append['events'][number]): string {
  if (!uuid.test(id)) throw new TypeError('an event id must be a UUID in lower case')
  checkText('an event type', type)
  return eventText(id, type, jsonText(data, 'data', type), jsonText(metadata, 'metadata', type))
}

/**
 * Rejects values of other kinds, which would be stored as a damaged event or fail the whole message, and text with lone surrogates, which
 * would be stored as U+FFFD, so that different names became equal.
 */
function checkText(field: string, text: unknown): void {
  if (typeof text !== 'string' || text === '' || (surrogate.test(text) && loneSurrogate.test(text)))
    throw new TypeError(`${field} must be well-formed text and not empty`)
}

function checkDataBytes(append: Append): void {
  let bytes = 0
  for (const event of append.events) bytes += Buffer.byteLength(jsonText(event.data, 'data', event.type))
  if (bytes > maxAppendBytes) {
    throw new AppendTooLargeError(
      `${append.stream}: ${bytes} bytes of event data exceed the limit of ${maxAppendBytes}`,
    )
  }
}
