import type { MessagePort } from 'node:worker_threads'
import {
  type Append,
  type AppendResult,
  AppendTooLargeError,
  type ExpectedRevision,
  maxAppendBytes,
  type NewEvent,
  type Position,
  StoreUnavailableError,
  WrongExpectedRevisionError,
} from '../event-log-types.js'
import { answered, answerLength, type Batch, type FromWriter, noRevision, type Operation } from './writer-messages.js'

/** Calls in one message. More, and the writer idles while the message is made; fewer, and it syncs too often. */
const batchUnits = 256
/** Calls that do not wait for the end of the turn when the writer has nothing to do. */
const earlyUnits = 32
/** A message of this many UTF-16 units takes no further calls. */
const batchSize = 4 * 1024 * 1024
/** Messages the writer has not answered. With two it works on one while the answers to the other are handed out. */
const maxInFlight = 2
/** Calls and UTF-16 units waiting here before further calls are refused. */
const maxWaitingUnits = 50_000
const maxWaitingSize = 256 * 1024 * 1024
/** Of one append with metadata and types, in UTF-16 units; EventStoreDB's limit on a message. */
const maxAppendSize = 16 * 1024 * 1024
/** Added to the size of each event, so that the number of events in an append is limited too. */
const eventOverhead = 64

const closedReason = 'the event store is closed'

export type Outcome =
  /** `position` is absent where the event can no longer be read. */
  | { readonly kind: 'ok'; readonly revision: number; readonly position?: number }
  /** `actual` is -1 when the stream has no event. */
  | { readonly kind: 'wrong_revision'; readonly actual: number }
  | { readonly kind: 'deleted' }

interface Unit {
  /** How many answers are its own. */
  readonly count: number
  /** Takes them from this index on. */
  readonly settle: (answers: Float64Array, from: number) => void
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

/** Sends what one thread writes to the log writer; calls of one turn of the event loop share a message. */
export class WriterClient {
  readonly #onCommitted: (position: number) => void
  #port: MessagePort | undefined
  #collected: Message[] = []
  #inFlight: Message[] = []
  #waitingUnits = 0
  #waitingSize = 0
  #scheduled = false
  #ended: string | undefined
  #whenIdle: (() => void) | undefined
  #whenFirstUsed: (() => void) | undefined

  constructor(onCommitted: (position: number) => void) {
    this.#onCommitted = onCommitted
  }

  /** Calls back once, before the first append is sent. */
  whenFirstUsed(start: () => void): void {
    this.#whenFirstUsed = start
  }

  /** A new writer. What the one before has not answered fails. */
  connect(port: MessagePort): void {
    this.#failAll(this.#inFlight, 'the log writer was replaced')
    this.#port = port
    port.on('message', (message: FromWriter) => {
      // What a replaced writer left in its port would be taken for the answers of the new one.
      if (this.#port === port) this.#receive(message)
    })
    port.on('close', () => {
      if (this.#port === port) this.disconnected('the log writer is gone')
    })
    this.#schedule()
  }

  disconnected(reason: string): void {
    this.#port?.close()
    this.#port = undefined
    this.#failAll(this.#inFlight, reason)
    this.#failAll(this.#collected, reason)
  }

  /** There will be no other writer. */
  ended(reason: string): void {
    this.#ended ??= reason
    this.disconnected(reason)
  }

  /**
   * Calls back once, unless it throws; the caller makes the one promise there is.
   * @throws StoreUnavailableError, AppendTooLargeError, TypeError
   */
  append(
    appends: readonly Append[],
    resolve: (results: readonly AppendResult[]) => void,
    reject: (error: Error) => void,
  ): void {
    this.#collect((batch) => encodeUnit(appends, batch), {
      count: appends.length,
      settle: (answers, from) => settleAppends(appends, answers, from, resolve, reject),
      reject,
    })
  }

  /** @throws StoreUnavailableError */
  execute(operation: Operation): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const settle = (answers: Float64Array, from: number) => resolve(outcomeOf(answers, from))
      this.#collect((batch) => encodeOperation(operation, batch), { count: 1, settle, reject })
    })
  }

  /** @param encode puts the unit into the batch and answers its size */
  #collect(encode: (batch: Batch) => number, unit: Unit): void {
    if (this.#ended !== undefined) throw new StoreUnavailableError(this.#ended)
    if (this.#waitingUnits >= maxWaitingUnits || this.#waitingSize >= maxWaitingSize) {
      throw new StoreUnavailableError(`${this.#waitingUnits} appends wait for the log already`)
    }
    const message = this.#message()
    const size = encode(message.batch)
    message.units.push(unit)
    message.size += size
    this.#waitingUnits += 1
    this.#waitingSize += size
    this.#whenFirstUsed?.()
    this.#whenFirstUsed = undefined
    this.#schedule()
    // Otherwise the writer would idle until the end of the turn, and then this thread until the commit.
    if (message.units.length === earlyUnits && this.#inFlight.length === 0) this.#send()
  }

  /** Refuses new appends and waits for the answers to the others. */
  async close(): Promise<void> {
    this.#ended = closedReason
    if (this.#waitingUnits > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    this.disconnected(closedReason)
  }

  /** The message that takes the next call. */
  #message(): Message {
    const last = this.#collected.at(-1)
    if (last !== undefined && last.units.length < batchUnits && last.size < batchSize) return last
    const message: Message = { batch: [], units: [], size: 0 }
    this.#collected.push(message)
    return message
  }

  #schedule(): void {
    if (this.#scheduled || this.#collected.length === 0) return
    this.#scheduled = true
    // At the end of the turn, so that everything this turn's I/O asks for shares a message and a sync.
    setImmediate(() => {
      this.#scheduled = false
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
    switch (message.kind) {
      case 'answers':
        this.#onCommitted(message.committed)
        this.#answer(message.answers)
        return
      case 'failed': {
        const failed = this.#inFlight.shift()
        if (failed !== undefined) this.#fail(failed, message.reason)
        this.#schedule()
        return
      }
      case 'committed':
        this.#onCommitted(message.committed)
        return
      default:
        message satisfies never
    }
  }

  #answer(answers: Float64Array): void {
    const message = this.#inFlight.shift()
    if (message === undefined) throw new Error('the log writer answered what was not asked')
    let at = 0
    for (const unit of message.units) {
      unit.settle(answers, at)
      at += unit.count * answerLength
    }
    this.#done(message)
    this.#schedule()
  }

  #failAll(messages: Message[], reason: string): void {
    for (const message of messages.splice(0)) this.#fail(message, reason)
  }

  #fail(message: Message, reason: string): void {
    for (const unit of message.units) unit.reject(new StoreUnavailableError(`not written: ${reason}`))
    this.#done(message)
  }

  #done(message: Message): void {
    this.#waitingUnits -= message.units.length
    this.#waitingSize -= message.size
    if (this.#waitingUnits === 0) this.#whenIdle?.()
  }
}

function settleAppends(
  appends: readonly Append[],
  answers: Float64Array,
  from: number,
  resolve: (results: readonly AppendResult[]) => void,
  reject: (error: Error) => void,
): void {
  const results: AppendResult[] = []
  let position = positionOf(0)
  let at = from
  for (const { stream, expectedRevision } of appends) {
    const revision = answers[at + 1] ?? noRevision
    if (answers[at] !== answered.appended) {
      const actual = revision === noRevision ? 'no_stream' : revision
      reject(new WrongExpectedRevisionError(stream, expectedRevision, actual))
      return
    }
    // Those that only ask are answered with one place, and there may be many of them.
    const place = answers[at + 2] ?? 0
    if (place !== Number(position.commit)) position = positionOf(place)
    results.push({ revision, position })
    at += answerLength
  }
  resolve(results)
}

function positionOf(place: number): Position {
  const position = BigInt(place)
  return { commit: position, prepare: position }
}

function outcomeOf(answers: Float64Array, at: number): Outcome {
  const [kind, revision = 0, position = 0] = answers.subarray(at, at + answerLength)
  switch (kind) {
    case answered.appended:
      return { kind: 'ok', revision, ...(position > 0 && { position }) }
    case answered.refused:
      return { kind: 'wrong_revision', actual: revision }
    default:
      return { kind: 'deleted' }
  }
}

/** Answers the size. */
function encodeOperation(operation: Operation, batch: Batch): number {
  batch.push(operation)
  let size = operation.stream.length
  if (operation.kind === 'append') for (const body of operation.bodies) size += body.length + eventOverhead
  return size
}

/** Answers the size; leaves the batch as it was when it throws. @throws AppendTooLargeError, TypeError */
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

/** Answers the size. */
function encodeAppend(append: Append, batch: Batch): number {
  checkText('a stream name', append.stream)
  batch.push(append.stream, encodeExpected(append.expectedRevision), append.events.length)
  let size = append.stream.length
  for (const event of append.events) {
    const body = encodeEvent(event)
    batch.push(body)
    size += body.length + eventOverhead
  }
  // A UTF-16 unit is at most three bytes: only what might be too large is counted in bytes.
  if (size * 3 > maxAppendBytes) checkDataBytes(append)
  if (size > maxAppendSize) throw new AppendTooLargeError(`${append.stream}: more than ${maxAppendSize} with metadata`)
  return size
}

function encodeEvent(event: NewEvent): string {
  if (!uuid.test(event.id)) throw new TypeError('an event id must be a UUID in lower case')
  checkText('an event type', event.type)
  // In an array JSON.stringify writes null for what it leaves out elsewhere.
  if (typeof event.data !== 'object' || typeof event.metadata !== 'object') {
    throw new TypeError(`${event.type}: data and metadata must be objects`)
  }
  return JSON.stringify([event.id, event.type, event.data, event.metadata])
}

function encodeExpected(expected: ExpectedRevision): number {
  if (expected === 'no_stream') return noRevision
  if (!Number.isSafeInteger(expected) || expected < 0) throw new TypeError(`${expected} is no revision`)
  return expected
}

/** Lone surrogates would be stored as U+FFFD: two names would become one. */
function checkText(what: string, text: string): void {
  if (text === '' || (surrogate.test(text) && loneSurrogate.test(text)))
    throw new TypeError(`${what} must be well-formed text, and not empty`)
}

function checkDataBytes(append: Append): void {
  let bytes = 0
  for (const event of append.events) bytes += Buffer.byteLength(JSON.stringify(event.data))
  if (bytes > maxAppendBytes) {
    throw new AppendTooLargeError(`${append.stream}: ${bytes} bytes of event data; ${maxAppendBytes} are the limit`)
  }
}
