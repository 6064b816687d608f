import shared from '@eventstore/db-client/generated/shared_pb.js'
import type { Status } from '@eventstore/db-client/generated/status_pb.js'
import type { ClientDuplexStream } from '@grpc/grpc-js'
import {
  AppendTooLargeError,
  KeyReservedError,
  type Position,
  StoreUnavailableError,
  StreamDeletedError,
  WrongExpectedRevisionError,
} from '../event-store.js'
import { countInLog } from '../log-counts.js'
import { type Append, type AppendResponse, type ProposedAppend, proposeAppend } from './append-wire.js'
import type { Connection } from './eventstoredb-connection.js'
import { DeadlineError, type RawClient } from './raw-client.js'

const what = 'appending'
/** The largest number of appends, and of their bytes, that wait for a response. More are rejected. */
const maxPending = 20_000
const maxPendingBytes = 128 * 1024 * 1024
/** The largest size of pipelined appends. It ensures that none is rejected for its size while a smaller one after it is sent. */
const maxPipelinedBytes = 8 * 1024 * 1024
/** The interval at which overdue responses are detected. */
const overdueEveryMs = 500
/** The number of tries for an append to which the server responds "timeout". Two identical simultaneous appends can cause it. */
const maxTries = 4

export interface Appended {
  readonly revision: number
  /** `undefined` if the events had been appended before and are hidden now. */
  readonly position: Position | undefined
}

interface Pending extends ProposedAppend {
  readonly overdueAtMs: number
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: Error) => void
}

/** The server timed out. The outcome of the append is unknown. */
class ServerTimeout extends StoreUnavailableError {}

interface Opening {
  readonly client: RawClient
  readonly ready: Promise<BatchCall>
  opened?: BatchCall
}

/** Sends all appends through one long-lived call, with any number in flight. Each response has the id of its append. */
export class Appender {
  #call: Opening | undefined
  #pending = 0
  #pendingBytes = 0
  #whenIdle: (() => void) | undefined

  constructor(private readonly connection: Connection) {}

  /** @throws WrongExpectedRevisionError, AppendTooLargeError, StoreUnavailableError, TypeError */
  async append(append: Append): Promise<Appended> {
    const endAtMs = performance.now() + this.connection.deadlineMs
    for (let tries = 1; ; tries += 1) {
      const leftMs = endAtMs - performance.now()
      try {
        return await this.#send(proposeAppend(append, Math.ceil(leftMs)))
      } catch (error) {
        // By the ids, the server responds to a repeated append as to the first one.
        if (!(error instanceof ServerTimeout) || tries === maxTries || performance.now() >= endAtMs) throw error
      }
    }
  }

  /** Resolves when no append waits for a response. */
  async idle(): Promise<void> {
    if (this.#pending === 0) return
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve
    })
  }

  /** Sends appends in order without waiting for the previous one, so none is retried. @throws the first error, when all have ended */
  async appendAll(appends: readonly Append[]): Promise<readonly Appended[]> {
    const results: Appended[] = []
    for (let next = 0; next < appends.length; ) {
      const sent: Promise<Appended>[] = []
      for (let bytes = 0; next < appends.length && bytes < maxPipelinedBytes; next++) {
        const proposed = proposeAppend(appends[next]!, this.connection.deadlineMs)
        bytes += proposed.size
        sent.push(this.#send(proposed))
      }
      for (const outcome of await Promise.allSettled(sent)) {
        if (outcome.status === 'rejected') throw outcome.reason
        results.push(outcome.value)
      }
    }
    return results
  }

  async #send(proposed: ProposedAppend): Promise<Appended> {
    const { connection } = this
    const { deadlineMs } = connection
    const { size } = proposed
    if (this.#pending >= maxPending || this.#pendingBytes + size > maxPendingBytes)
      throw new StoreUnavailableError(`${this.#pending} appends are already waiting for the event store`)
    this.#pending += 1
    this.#pendingBytes += size
    countInLog('append')
    let end: (() => void) | undefined
    try {
      const client = connection.client ?? (await connection.connected())
      end = connection.begin()
      // An open call saves the timer and the promises of waiting for it.
      const opened = this.#call?.client === client ? this.#call.opened : undefined
      const call = opened ?? (await connection.call(what, () => this.#callOn(client)))
      return await new Promise<Appended>((resolve, reject) => {
        call.send({ ...proposed, overdueAtMs: performance.now() + deadlineMs, resolve, reject })
      })
    } finally {
      end?.()
      this.#pending -= 1
      this.#pendingBytes -= size
      if (this.#pending === 0) this.#whenIdle?.()
    }
  }

  #callOn(client: RawClient): Promise<BatchCall> {
    if (this.#call?.client === client) return this.#call.ready
    const ready = client.batchAppend().then((stream) => new BatchCall(stream, (error) => this.#ended(client, error)))
    const call: Opening = { client, ready }
    this.#call = call
    ready.then(
      (opened) => {
        call.opened = opened
      },
      (error) => this.#ended(client, error),
    )
    return ready
  }

  /** Returns the error for the waiting appends. The next append opens a new call. */
  #ended(client: RawClient, error: unknown): Error {
    if (this.#call?.client === client) this.#call = undefined
    const failure = this.connection.failed(client, error, what)
    return failure instanceof StoreUnavailableError ? failure : new StoreUnavailableError(failure.message)
  }
}

class BatchCall {
  readonly #pending = new Map<string, Pending>()
  readonly #timer = setInterval(() => this.#checkOverdue(), overdueEveryMs).unref()
  #failure: Error | undefined

  constructor(
    private readonly stream: ClientDuplexStream<Buffer, AppendResponse>,
    private readonly onEnded: (error: unknown) => Error,
  ) {
    stream.on('data', (response: AppendResponse) => this.#settle(response))
    stream.on('error', (error: Error) => this.#end(error))
    stream.on('end', () => this.#end(new StoreUnavailableError('the server ended the call')))
  }

  /** Messages wait in the call's own buffer. The appender limits their number. */
  send(pending: Pending): void {
    if (this.#failure) {
      pending.reject(this.#failure)
      return
    }
    this.#pending.set(pending.correlationId, pending)
    for (const message of pending.messages) this.stream.write(message)
  }

  #settle(response: AppendResponse): void {
    const { correlationId } = response
    const pending = this.#pending.get(correlationId)
    // A server may respond again after it has responded "timeout".
    if (pending === undefined) return
    this.#pending.delete(correlationId)
    if ('error' in response) pending.reject(refusal(response.error, pending))
    else if ('isEmpty' in response) pending.reject(new StoreUnavailableError(`${what}: the response is empty`))
    else pending.resolve(response)
  }

  /** Appends are sent in order, so the first pending one is the oldest. */
  #checkOverdue(): void {
    const [oldest] = this.#pending.values()
    if (oldest === undefined || oldest.overdueAtMs > performance.now()) return
    this.#end(new DeadlineError(`${what}: no response in time`))
    this.stream.cancel()
  }

  #end(error: Error): void {
    if (this.#failure) return
    clearInterval(this.#timer)
    const failure = this.onEnded(error)
    this.#failure = failure
    for (const pending of this.#pending.values()) pending.reject(failure)
    this.#pending.clear()
  }
}

function refusal(error: Status, { stream, expectedRevision }: Pending): Error {
  const details = error.getDetails()
  const type = details?.getTypeName().replace('event_store.client.', '')
  switch (type) {
    case 'WrongExpectedVersion': {
      const detail = shared.WrongExpectedVersion.deserializeBinary(details?.getValue_asU8() ?? new Uint8Array())
      const actual = detail.hasCurrentStreamRevision() ? Number(detail.getCurrentStreamRevision()) : 'no_stream'
      // Only `events serve-grpc` responds this, if the log has the keys of the first event in its own index.
      if (actual === 'no_stream' && expectedRevision === 'no_stream') return new KeyReservedError(stream)
      return new WrongExpectedRevisionError(stream, expectedRevision, actual)
    }
    case 'MaximumAppendSizeExceeded':
      return new AppendTooLargeError(`${stream}: the append is too large for the event store`)
    case 'Timeout':
      return new ServerTimeout(`${what} to ${stream}: the event store timed out`)
    case 'AccessDenied':
      return new StoreUnavailableError(`${what} to ${stream}: access denied, or the log is served read-only`)
    case 'StreamDeleted':
      return new StreamDeletedError(stream)
    case 'BadRequest':
      return new TypeError(`${what} to ${stream}: the event store rejects it: ${error.getMessage()}`)
    default:
      return new StoreUnavailableError(`${what} to ${stream}: ${error.getMessage()}`)
  }
}
