import type { Status } from '@eventstore/db-client/generated/status_pb.js'
import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { ClientDuplexStream } from '@grpc/grpc-js'
import {
  AppendTooLargeError,
  type ExpectedRevision,
  type NewEvent,
  type Position,
  StoreUnavailableError,
  WrongExpectedRevisionError,
} from '../event-store.js'
import type { Connection } from './connection.js'
import { shared } from './generated.js'
import { DeadlineError } from './incoming.js'
import { type ProposedAppend, proposeAppend } from './proposed-append.js'
import type { RawClient } from './raw-client.js'
import { idOf, positionOf } from './recorded-event.js'

const what = 'appending'
/** Appends and bytes that wait for their answers; more are refused. */
const maxPending = 20_000
const maxPendingBytes = 128 * 1024 * 1024
/** How often overdue answers are looked for. */
const overdueEveryMs = 500
/** An append that the server answered with "timeout" is retried: two identical ones at the same moment are enough for that. */
const maxTries = 4

export interface Appended {
  readonly revision: number
  /** Absent when the events were appended before, and are hidden since. */
  readonly position?: Position
}

interface Pending {
  readonly stream: string
  readonly expectedRevision: ExpectedRevision
  readonly size: number
  readonly overdueAtMs: number
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: Error) => void
}

/** The server gave up; whether the append was done is unknown. */
class ServerTimeout extends StoreUnavailableError {}

/** Sends all appends through one endless call, any number in flight; each is answered under its own id. */
export class Appender {
  #call: { readonly client: RawClient; readonly ready: Promise<BatchCall> } | undefined
  #pending = 0
  #pendingBytes = 0
  #whenIdle: (() => void) | undefined

  constructor(private readonly connection: Connection) {}

  /** @throws WrongExpectedRevisionError, AppendTooLargeError, StoreUnavailableError, TypeError */
  async append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#once(stream, expected, events)
      } catch (error) {
        // Appended a second time, the same events are answered as the first time: the revision is exact.
        if (!(error instanceof ServerTimeout) || tries === maxTries) throw error
      }
    }
  }

  /** Resolves when nothing waits for an answer. */
  async idle(): Promise<void> {
    if (this.#pending === 0) return
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve
    })
  }

  async #once(stream: string, expectedRevision: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    const { connection } = this
    const { deadlineMs, client } = connection
    const proposed = proposeAppend(stream, expectedRevision, events, deadlineMs)
    const { size } = proposed
    if (this.#pending >= maxPending || this.#pendingBytes + size > maxPendingBytes)
      throw new StoreUnavailableError(`${this.#pending} appends wait for the event store already`)
    this.#pending += 1
    this.#pendingBytes += size
    try {
      const call = await connection.call(what, () => this.#callOn(client))
      return await new Promise<Appended>((resolve, reject) => {
        const overdueAtMs = performance.now() + deadlineMs
        call.send(proposed, { stream, expectedRevision, size, overdueAtMs, resolve, reject })
      })
    } finally {
      this.#pending -= 1
      this.#pendingBytes -= size
      if (this.#pending === 0) this.#whenIdle?.()
    }
  }

  #callOn(client: RawClient): Promise<BatchCall> {
    if (this.#call?.client === client) return this.#call.ready
    const ready = client.batchAppend().then((stream) => new BatchCall(stream, (error) => this.#ended(client, error)))
    this.#call = { client, ready }
    ready.catch((error) => this.#ended(client, error))
    return ready
  }

  /** The error for whoever waits. The next append makes a new call. */
  #ended(client: RawClient, error: unknown): Error {
    if (this.#call?.client === client) this.#call = undefined
    const failure = this.connection.failed(client, error, what)
    return failure instanceof StoreUnavailableError ? failure : new StoreUnavailableError(failure.message)
  }
}

class BatchCall {
  readonly #pending = new Map<string, Pending>()
  #timer: NodeJS.Timeout | undefined
  #failure: Error | undefined

  constructor(
    private readonly stream: ClientDuplexStream<BatchAppendReq, BatchAppendResp>,
    private readonly onEnded: (error: unknown) => Error,
  ) {
    stream.on('data', (response: BatchAppendResp) => this.#settle(response))
    stream.on('error', (error: Error) => this.#end(error))
    stream.on('end', () => this.#end(new StoreUnavailableError('the server ended the call')))
  }

  /** What is written waits in the call's own buffer; the appender limits how much that is. */
  send({ correlationId, messages }: ProposedAppend, pending: Pending): void {
    if (this.#failure) {
      pending.reject(this.#failure)
      return
    }
    this.#pending.set(correlationId, pending)
    this.#timer ??= setInterval(() => this.#lookForOverdue(), overdueEveryMs)
    for (const message of messages) this.stream.write(message)
  }

  #settle(response: BatchAppendResp): void {
    const id = idOf(response.getCorrelationId())
    const pending = this.#pending.get(id)
    // A server may answer again after it has answered "timeout".
    if (pending === undefined) return
    this.#pending.delete(id)
    if (this.#pending.size === 0) this.#stopTimer()
    const [error, success] = [response.getError(), response.getSuccess()]
    const position = success?.getPosition()
    if (error !== undefined) pending.reject(refusal(error, pending))
    else if (success === undefined) pending.reject(new StoreUnavailableError(`${what}: an answer that says nothing`))
    else {
      const revision = Number(success.getCurrentRevision())
      pending.resolve({ revision, ...(position && { position: positionOf(position) }) })
    }
  }

  /** They were sent in order, so the first is the oldest. */
  #lookForOverdue(): void {
    const [oldest] = this.#pending.values()
    if (oldest === undefined || oldest.overdueAtMs > performance.now()) return
    this.#end(new DeadlineError(`${what}: no answer in time`))
    this.stream.cancel()
  }

  #end(error: Error): void {
    if (this.#failure) return
    this.#stopTimer()
    const failure = this.onEnded(error)
    this.#failure = failure
    for (const pending of this.#pending.values()) pending.reject(failure)
    this.#pending.clear()
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

function refusal(error: Status, { stream, expectedRevision }: Pending): Error {
  const details = error.getDetails()
  const type = details?.getTypeName().replace('event_store.client.', '')
  switch (type) {
    case 'WrongExpectedVersion': {
      const detail = shared.WrongExpectedVersion.deserializeBinary(details?.getValue_asU8() ?? new Uint8Array())
      const actual = detail.hasCurrentStreamRevision() ? Number(detail.getCurrentStreamRevision()) : 'no_stream'
      return new WrongExpectedRevisionError(stream, expectedRevision, actual)
    }
    case 'MaximumAppendSizeExceeded':
      return new AppendTooLargeError(`${stream}: the event store takes no append of this size`)
    case 'Timeout':
      return new ServerTimeout(`${what} to ${stream}: the event store timed out`)
    case 'AccessDenied':
      return new StoreUnavailableError(`${what} to ${stream}: access denied, or the log is served read-only`)
    case 'StreamDeleted':
      return new Error(`${stream} was deleted for ever (a tombstone): nothing can be appended to it`)
    case 'BadRequest':
      return new TypeError(`${what} to ${stream}: the event store does not take it: ${error.getMessage()}`)
    default:
      return new StoreUnavailableError(`${what} to ${stream}: ${error.getMessage()}`)
  }
}
