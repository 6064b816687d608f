import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  ServerDuplexStream,
  ServerWritableStream,
} from '@grpc/grpc-js'
import type { StreamStore } from '@transferd/event-log/streams'
import type { Access } from '../access/access-control.js'
import type { Asking } from '../access/authenticator.js'
import type { User } from '../access/stored-users.js'
import type { MatchingBudgets } from '../filters/matching-budget.js'
import { toCallError, unforeseen } from '../wire/call-error.js'

/** What every service works with. */
export interface ServerContext {
  readonly store: StreamStore
  readonly access: Access
  readonly isWritable: boolean
  /** Time for the expressions of filters. */
  readonly matching: MatchingBudgets
  /** A fault of the server: it ends one call, never the process. */
  readonly onFault: (error: unknown) => void
}

export function unary<Request, Response>(
  context: ServerContext,
  handle: (request: Request, asking: Asking) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, answer) => {
    handle(call.request, call).then(
      (response) => answer(null, response),
      (error) => answer(toCallError(error, context.onFault)),
    )
  }
}

/** Answers with any number of messages, until the handler is done or the client has gone. */
export function streaming<Request, Response>(
  context: ServerContext,
  handle: (call: ServerWritableStream<Request, Response>, signal: AbortSignal) => Promise<void>,
): handleServerStreamingCall<Request, Response> {
  return (call) => {
    const signal = signalOf(call)
    handle(call, signal).then(
      () => call.end(),
      (error) => {
        if (!signal.aborted) endWith(call, error, context)
      },
    )
  }
}

/** Begins when it is known who calls: nobody listens for data before, so nothing is lost meanwhile, nor held for strangers. */
export function duplex<Request, Response>(
  context: ServerContext,
  begin: (call: ServerDuplexStream<Request, Response>, user: User | undefined) => void,
): handleBidiStreamingCall<Request, Response> {
  return (call) => {
    call.on('error', () => {}) // without a listener it would end the process
    const begun = context.access.caller(call).then((user) => begin(call, user))
    begun.catch((error) => endWith(call, error, context))
  }
}

/** The options of a request, without which it means nothing. @throws CallError */
export function given<Options>(options: Options | undefined): Options {
  if (options === undefined) throw unforeseen()
  return options
}

type Streaming = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>

/** Aborts when the client has gone. */
export function signalOf(call: Streaming): AbortSignal {
  const gone = new AbortController()
  call.on('cancelled', () => gone.abort())
  call.on('close', () => gone.abort())
  call.on('error', () => gone.abort())
  return gone.signal
}

/** What may be under way to one client. The transport's own limit is 16 messages, which costs a third of the speed. */
const maxPendingMessages = 256
const maxPendingBytes = 1024 * 1024

/** Writes, and tells when to wait for a slow client: what it has not taken is not held in memory without bound. */
export class Outlet<Response> {
  #messages = 0
  #bytes = 0
  #wake: (() => void) | undefined

  constructor(
    private readonly call: ServerWritableStream<unknown, Response>,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => this.#wake?.())
  }

  /** False when {@link drained} must be waited for before the next. */
  write(response: Response, bytes = 0): boolean {
    if (this.signal.aborted) return false
    this.#messages += 1
    this.#bytes += bytes
    this.call.write(response, () => {
      this.#messages -= 1
      this.#bytes -= bytes
      if (this.#messages * 2 <= maxPendingMessages && this.#bytes * 2 <= maxPendingBytes) this.#wake?.()
    })
    return this.#messages < maxPendingMessages && this.#bytes < maxPendingBytes
  }

  /** False when the client has gone. */
  async drained(): Promise<boolean> {
    if (!this.signal.aborted && this.#messages > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    return !this.signal.aborted
  }
}

/** Ends a streaming call with whatever was thrown. */
export function endWith(call: Streaming, error: unknown, { onFault }: ServerContext): void {
  call.emit('error', toCallError(error, onFault))
}
