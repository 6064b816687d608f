import { once } from 'node:events'
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
import { findNode } from './cluster-search.js'
import type { ConnectionTarget, Endpoint } from './eventstoredb-url.js'
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
  return code === status.UNAVAILABLE || code === status.INTERNAL
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
const slowCheckEveryMs = 250
/** The duration of a call after which the connection looks for another leader. */
const slowAfterMs = 1_000

/**
 * Holds the current client. When its connection is lost, the calls in flight fail, because their outcome is unknown, and later calls wait
 * for a new connection. It tries to reconnect forever, with jitter, so that not all nodes reach a restarted server simultaneously.
 */
export class Connection {
  readonly #closing = new AbortController()
  readonly #isCluster: boolean
  /** Whether another node of the cluster can become the one to use. */
  readonly #followsLeader: boolean
  readonly #waiting = new Set<() => void>()
  /** The calls that wait for a response, oldest first. */
  readonly #calls = new Set<{ readonly sinceMs: number }>()
  #client: RawClient | undefined
  /** The time of the last connection; `undefined` if none has ever worked. */
  #upSinceMs: number | undefined
  #unavailable = 'no response'
  #attempts = 0
  #connecting: Promise<void> | undefined
  #slowCheck: NodeJS.Timeout | undefined
  #slowSearch: AbortController | undefined

  constructor(
    private readonly target: ConnectionTarget,
    readonly deadlineMs: number,
  ) {
    this.#isCluster = target.kind !== 'node'
    this.#followsLeader = this.#isCluster && target.nodePreference === 'leader'
  }

  /** The client, or `undefined` while there is no connection. */
  get client(): RawClient | undefined {
    return this.#closing.signal.aborted ? undefined : this.#client
  }

  /** Waits for a connection if necessary. @throws StoreUnavailableError after the deadline, or when the store closes */
  async connected(): Promise<RawClient> {
    const { signal } = this.#closing
    if (this.#client === undefined && !signal.aborted) {
      this.#connecting ??= this.#connect()
      await this.#wait()
    }
    if (signal.aborted) throw new StoreUnavailableError('the event store is closed')
    if (this.#client) return this.#client
    throw new StoreUnavailableError(`the event store is unavailable: ${this.#unavailable}`)
  }

  /** @throws the port's errors */
  async use<Result>(what: string, call: (client: RawClient) => Promise<Result>): Promise<Result> {
    const client = this.client ?? (await this.connected())
    const end = this.begin()
    try {
      return await call(client)
    } catch (error) {
      throw this.failed(client, error, what)
    } finally {
      end()
    }
  }

  /** Makes a call with a single response. @throws StoreUnavailableError after the deadline */
  call<Result>(what: string, call: (client: RawClient) => Promise<Result>): Promise<Result> {
    return this.use(what, (client) => within(this.deadlineMs, what, call(client)))
  }

  /** Counts a call as waiting for a response until the returned function is called. */
  begin(): () => void {
    const call = { sinceMs: performance.now() }
    this.#calls.add(call)
    return () => this.#calls.delete(call)
  }

  /** Returns the port's error for a failed call of this client, and reconnects if the connection is lost. */
  failed(client: RawClient, error: unknown, what: string): Error {
    const failure = toStoreError(error, what)
    if (error instanceof DeadlineError || meansLostConnection(error)) this.#lost(client, failure.message)
    return failure
  }

  /** Rejects waiting and further calls, and ends the connection after the calls in flight. */
  async close(inFlight: () => Promise<void>): Promise<void> {
    this.#closing.abort()
    this.#wake()
    await inFlight()
    await this.#connecting
    this.#stopWatching()
    await this.#client?.end()
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, this.deadlineMs)
      this.#waiting.add(wake)
    })
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  #lost(client: RawClient, reason: string): void {
    if (client !== this.#client || this.#closing.signal.aborted) return
    this.#stopWatching()
    this.#client = undefined
    this.#unavailable = reason
    if (performance.now() - (this.#upSinceMs ?? 0) > steadyAfterMs) this.#attempts = 0
    // Otherwise calls of the old connection would hang forever.
    void client.end().catch(() => undefined)
    this.#connecting = this.#connect(client.endpoint)
  }

  async #connect(lost?: Endpoint): Promise<void> {
    const { signal } = this.#closing
    // The first search after a while can start immediately, because it asks the nodes first.
    if (lost && (!this.#isCluster || this.#attempts > 0)) await this.#pause()
    for (let failed = lost; ; ) {
      const endpoint = this.#isCluster ? await this.#find(failed, true, signal) : this.target.endpoints[0]
      if (endpoint === undefined || signal.aborted) return
      const client = new RawClient(this.target, endpoint, this.deadlineMs)
      try {
        await this.#probe(client)
        return this.#connected(client)
      } catch (error) {
        void client.end().catch(() => undefined)
        this.#unavailable = toStoreError(error, 'connecting').message
        // The URL may be wrong if the server never responded, so a start fails immediately.
        const isSlow = error instanceof DeadlineError
        if (!this.#isCluster && !isSlow && this.#upSinceMs === undefined) this.#wake()
      }
      failed = endpoint
      await this.#pause()
    }
  }

  #connected(client: RawClient): void {
    this.#upSinceMs = performance.now()
    this.#client = client
    if (this.#followsLeader) this.#slowCheck = setInterval(() => this.#checkSlowCalls(client), slowCheckEveryMs).unref()
    this.#wake()
  }

  #stopWatching(): void {
    clearInterval(this.#slowCheck)
    this.#slowSearch?.abort()
  }

  #find(failed: Endpoint | undefined, isLost: boolean, signal: AbortSignal) {
    return findNode(this.target, {
      failed,
      isLost,
      signal,
      onFailure: (error) => {
        this.#unavailable = toStoreError(error, 'finding the leader').message
      },
    })
  }

  async #pause(): Promise<void> {
    const delayMs = Math.min(this.#isCluster ? firstDelayMs : maxDelayMs, firstDelayMs * 2 ** this.#attempts)
    this.#attempts = Math.min(this.#attempts + 1, 30)
    const { signal } = this.#closing
    await sleep(delayMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined)
  }

  /** Resolves when the node responds. @throws when the cluster names another leader, after the deadline, or when the store closes */
  async #probe(client: RawClient): Promise<void> {
    const search = new AbortController()
    const stop = () => search.abort()
    this.#closing.signal.addEventListener('abort', stop)
    const other = this.#followsLeader ? this.#find(client.endpoint, false, search.signal) : once(search.signal, 'abort')
    const moved = other.then(() => Promise.reject(new StoreUnavailableError('connecting: the leader has changed')))
    try {
      await within(probeDeadlineMs, 'connecting', Promise.race([client.probe(), moved]))
    } finally {
      moved.catch(() => undefined)
      stop()
      this.#closing.signal.removeEventListener('abort', stop)
    }
  }

  /** Looks for another leader while calls are slow: a node that only stops responding breaks no connection for 20 s. */
  async #checkSlowCalls(client: RawClient): Promise<void> {
    const [oldest] = this.#calls
    const isSlow = oldest !== undefined && performance.now() - oldest.sinceMs > slowAfterMs
    if (!isSlow) this.#slowSearch?.abort()
    if (!isSlow || this.#slowSearch) return
    this.#slowSearch = new AbortController()
    const leader = await this.#find(client.endpoint, false, this.#slowSearch.signal)
    this.#slowSearch = undefined
    if (leader) this.#lost(client, 'the node does not respond, and another is the leader')
  }
}
