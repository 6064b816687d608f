import { setTimeout as sleep } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import {
  ConsumerDroppedError,
  InvalidSettingsError,
  MaximumSubscribersReachedError,
  PersistentSubscriptionExistsError,
  PersistentSubscriptionMissingError,
  StoreUnavailableError,
} from '../event-store.js'
import type { ConnectionTarget } from './eventstoredb-url.js'
import { DeadlineError, RawClient, within } from './raw-client.js'

/** An error of gRPC, or of the client. */
interface CallError extends Error {
  readonly code?: number
  readonly details?: string
  /** The client's name of the error. */
  readonly type?: string
  readonly metadata?: { get(name: string): readonly unknown[] }
}

/** Returns the server's name of the error, such as `access-denied`. */
function kindOf(error: CallError): string | undefined {
  return error.type ?? error.metadata?.get('exception')[0]?.toString()
}

/** Returns whether the connection is lost, and not only the call. */
function meansLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, details } = error as CallError
  const kind = kindOf(error as CallError)
  if (kind === 'unavailable' || kind === 'cancelled' || kind === 'not-leader') return true
  if (kind !== undefined && kind !== 'unknown') return false
  if (code === status.CANCELLED) return details !== 'Cancelled on client'
  // INTERNAL: the connection broke in the middle of a message, or the other side does not speak this protocol.
  return code === status.UNAVAILABLE || code === status.INTERNAL || error.message.startsWith('Failed to discover')
}

const errorsByKind: { readonly [kind: string]: new (message: string) => Error } = {
  'persistent-subscription-exists': PersistentSubscriptionExistsError,
  'persistent-subscription-does-not-exist': PersistentSubscriptionMissingError,
  'persistent-subscription-failed': InvalidSettingsError,
  'persistent-subscription-dropped': ConsumerDroppedError,
  'maximum-subscribers-reached': MaximumSubscribersReachedError,
}

/** Returns whether the server ended a live subscription whose buffer was full. EventStoreDB 23.10 does this in every burst of events. */
export function isDroppedSubscription(error: unknown): boolean {
  return error instanceof Error && (error as CallError).code === status.ABORTED
}

/** Returns an error of the port for the error of a call. Its message holds no secrets: neither gRPC nor the client repeats any. */
function toStoreError(error: unknown, what: string): Error {
  if (error instanceof StoreUnavailableError || error instanceof ConsumerDroppedError) return error
  if (!(error instanceof Error)) return new StoreUnavailableError(`${what}: ${String(error)}`)
  const { code } = error as CallError
  const kind = kindOf(error as CallError)
  const PortError = errorsByKind[kind ?? '']
  if (PortError) return new PortError(`${what}: ${error.message}`)
  const isDenied = kind === 'access-denied' || code === status.UNAUTHENTICATED || code === status.PERMISSION_DENIED
  const reason = isDenied ? 'access denied; the user of the URL must exist and be one of $admins' : error.message
  return new StoreUnavailableError(`${what}: ${reason}`)
}

const firstDelayMs = 100
/** Short, because a cluster elects a leader within seconds, and every request waits for the next try. */
const maxDelayMs = 500
/** After a connection of this duration, the reconnection intervals start short again. */
const steadyAfterMs = 10_000
const probeDeadlineMs = 5_000

/**
 * Holds the current client. When its connection is lost, every call fails immediately until a new connection works. It tries to reconnect
 * forever, at increasing intervals with jitter from the first try on, so that not all nodes reach a restarted server simultaneously.
 */
export class Connection {
  readonly #closing = new AbortController()
  #client: RawClient
  #upSinceMs = performance.now()
  /** Why the connection is lost; `undefined` while it works, or before it is first used. */
  #unavailable: string | undefined
  #attempts = 0
  #reconnecting: Promise<void> | undefined

  constructor(
    private readonly target: ConnectionTarget,
    readonly deadlineMs: number,
  ) {
    this.#client = new RawClient(target, deadlineMs)
  }

  /** @throws StoreUnavailableError while there is no connection */
  get client(): RawClient {
    if (this.#closing.signal.aborted) throw new StoreUnavailableError('the event store is closed')
    if (this.#unavailable !== undefined) throw new StoreUnavailableError(this.#unavailable)
    return this.#client
  }

  /** @throws the port's errors */
  async use<Result>(what: string, call: (client: RawClient) => Promise<Result>): Promise<Result> {
    const { client } = this
    try {
      return await call(client)
    } catch (error) {
      throw this.failed(client, error, what)
    }
  }

  /** Makes a call with a single response. @throws StoreUnavailableError after the deadline */
  call<Result>(what: string, call: (client: RawClient) => Promise<Result>): Promise<Result> {
    return this.use(what, (client) => within(this.deadlineMs, what, call(client)))
  }

  /** Returns the port's error for a failed call of this client, and reconnects if the connection is lost. */
  failed(client: RawClient, error: unknown, what: string): Error {
    const failure = toStoreError(error, what)
    if (error instanceof DeadlineError || meansLostConnection(error)) this.#lost(client, failure.message)
    return failure
  }

  /** Rejects every further call. Calls in flight fail. */
  async close(): Promise<void> {
    this.#closing.abort()
    // Ends a probe in progress, and so the reconnection.
    await this.#client.end()
    await this.#reconnecting
  }

  #lost(client: RawClient, reason: string): void {
    if (client !== this.#client || this.#unavailable !== undefined || this.#closing.signal.aborted) return
    this.#unavailable = `the event store is unavailable: ${reason}`
    if (performance.now() - this.#upSinceMs > steadyAfterMs) this.#attempts = 0
    this.#reconnecting = this.#reconnect()
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#closing
    for (;;) {
      // Otherwise calls of the old connection would hang forever.
      await this.#client.end().catch(() => undefined)
      const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#attempts)
      this.#attempts = Math.min(this.#attempts + 1, 30)
      await sleep(delayMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      this.#client = new RawClient(this.target, this.deadlineMs)
      try {
        await within(probeDeadlineMs, 'connecting', this.#client.probe())
        this.#unavailable = undefined
        this.#upSinceMs = performance.now()
        return
      } catch (error) {
        this.#unavailable = `the event store is unavailable: ${toStoreError(error, 'connecting').message}`
      }
    }
  }
}
