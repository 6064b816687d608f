import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  ServerDuplexStream,
  ServerWritableStream,
} from '@grpc/grpc-js'
import type { StreamStore } from '@transferd/event-log/streams'
import type { AccessControl } from '../access/access-control.js'
import type { IncomingCall } from '../access/authenticator.js'
import type { User } from '../access/stored-users.js'
import type { MatchingBudgets } from '../filters/matching-budget.js'
import { toCallError, unexpectedError } from '../wire/call-error.js'

export type LiveBurst = 'drop' | 'fall behind'

/** The dependencies of all services. */
export interface ServerContext {
  readonly store: StreamStore
  readonly access: AccessControl
  readonly isWritable: boolean
  /** The time budgets for the expressions of filters. */
  readonly matching: MatchingBudgets
  readonly onLiveBurst: LiveBurst | undefined
  /** Called for a fault of the server, which ends a call but never the process. */
  readonly onFault: (error: unknown) => void
}

export function unary<Request, Response>(
  context: ServerContext,
  handle: (request: Request, call: IncomingCall) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, respond) => {
    handle(call.request, call).then(
      (response) => respond(null, response),
      (error) => respond(toCallError(error, context.onFault)),
    )
  }
}

/** Handles a unary call that only members of the groups can make. */
export function unaryFor<Request, Response>(
  context: ServerContext,
  groups: readonly string[],
  handle: (request: Request) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return unary(context, async (request, call) => {
    context.access.requireGroup(await context.access.authenticate(call), groups)
    return handle(request)
  })
}

/** Handles a call that responds with any number of messages until the handler ends or the client disconnects. */
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

/** Starts a call after authentication. Until then no data is read, so none is lost, and none is buffered for unknown callers. */
export function duplex<Request, Response>(
  context: ServerContext,
  start: (call: ServerDuplexStream<Request, Response>, user: User | undefined) => void,
): handleBidiStreamingCall<Request, Response> {
  return (call) => {
    call.on('error', () => {}) // without a listener, an error would end the process
    const started = context.access.authenticate(call).then((user) => start(call, user))
    started.catch((error) => endWith(call, error, context))
  }
}

/** Returns a required part of a request. @throws CallError if it is missing */
export function required<Part>(part: Part | undefined): Part {
  if (part === undefined) throw unexpectedError()
  return part
}

type StreamingCall = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>

/** Returns a signal that aborts when the client disconnects. */
export function signalOf(call: StreamingCall): AbortSignal {
  const disconnected = new AbortController()
  for (const event of ['cancelled', 'close', 'error']) call.on(event, () => disconnected.abort())
  return disconnected.signal
}

/** Ends a streaming call with an error. */
export function endWith(call: StreamingCall, error: unknown, { onFault }: ServerContext): void {
  call.emit('error', toCallError(error, onFault))
}
