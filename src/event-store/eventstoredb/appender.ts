import type { Status } from '@eventstore/db-client/generated/status_pb.js'
import type { ClientDuplexStream } from '@grpc/grpc-js'
import {
  type Append,
  AppendTooLargeError,
  type ExpectedRevision,
  type NewEvent,
  type Position,
  StoreUnavailableError,
  WrongExpectedRevisionError,
} from '../event-store.js'
import type { Answer } from './append-wire.js'
import type { Connection } from './eventstoredb-connection.js'
import { shared } from './generated.js'
import { DeadlineError } from './incoming.js'
import { type ProposedAppend, proposeAppend } from './proposed-append.js'
import type { RawClient } from './raw-client.js'

const what = 'appending'
/** Appends and bytes that wait for their answers; more are refused. */
const maxPending = 20_000
const maxPendingBytes = 128 * 1024 * 1024
/** One of those that go at once must not be refused for want of room while a smaller one behind it is sent. */
const maxAtOnceBytes = 8 * 1024 * 1024
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

interface Opening {
  readonly client: RawClient
  readonly ready: Promise<BatchCall>
  opened?: BatchCall
}

/** Sends all appends through one endless call, any number in flight; each is answered under its own id. */
export class Appender {
  #call: Opening | undefined
  #pending = 0
  #pendingBytes = 0
  #whenIdle: (() => void) | undefined

  constructor(private readonly connection: Connection) {}

  /** @throws WrongExpectedRevisionError, AppendTooLargeError, StoreUnavailableError, TypeError */
  async append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#sent(stream, expected, this.#proposed({ stream, expectedRevision: expected, events }))
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

  /**
   * In this order, and as many in flight as fit: a server stores what comes through one call in the order in which it comes. None is tried again,
   * as those behind it are under way. @throws the first error, when all of them have ended
   */
  async appendAll(appends: readonly Append[]): Promise<readonly Appended[]> {
    const results: Appended[] = []
    for (let next = 0; next < appends.length; ) {
      const sent: Promise<Appended>[] = []
      for (let bytes = 0; next < appends.length && bytes < maxAtOnceBytes; next++) {
        const append = appends[next]!
        const proposed = this.#proposed(append)
        bytes += proposed.size
        sent.push(this.#sent(append.stream, append.expectedRevision, proposed))
      }
      for (const outcome of await Promise.allSettled(sent)) {
        if (outcome.status === 'rejected') throw outcome.reason
        results.push(outcome.value)
      }
    }
    return results
  }

  #proposed({ stream, expectedRevision, events }: Append): ProposedAppend {
    return proposeAppend(stream, expectedRevision, events, this.connection.deadlineMs)
  }

  async #sent(stream: string, expectedRevision: ExpectedRevision, proposed: ProposedAppend): Promise<Appended> {
    const { connection } = this
    const { deadlineMs, client } = connection
    const { size } = proposed
    if (this.#pending >= maxPending || this.#pendingBytes + size > maxPendingBytes)
      throw new StoreUnavailableError(`${this.#pending} appends wait for the event store already`)
    this.#pending += 1
    this.#pendingBytes += size
    try {
      const call = this.#openedOn(client) ?? (await connection.call(what, () => this.#callOn(client)))
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

  /** Without the timer and the promises of waiting for it. */
  #openedOn(client: RawClient): BatchCall | undefined {
    return this.#call?.client === client ? this.#call.opened : undefined
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
    private readonly stream: ClientDuplexStream<Buffer, Answer>,
    private readonly onEnded: (error: unknown) => Error,
  ) {
    stream.on('data', (answer: Answer) => this.#settle(answer))
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

  #settle(answer: Answer): void {
    const { correlationId } = answer
    const pending = this.#pending.get(correlationId)
    // A server may answer again after it has answered "timeout".
    if (pending === undefined) return
    this.#pending.delete(correlationId)
    if (this.#pending.size === 0) this.#stopTimer()
    if ('error' in answer) pending.reject(refusal(answer.error, pending))
    else if ('isEmpty' in answer) pending.reject(new StoreUnavailableError(`${what}: an answer that says nothing`))
    else pending.resolve({ revision: answer.revision, ...(answer.position && { position: answer.position }) })
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
