import { setTimeout as sleep } from 'node:timers/promises'
import { StoreUnavailableError } from '../event-store.js'
import { meansLostConnection, toStoreError } from './eventstoredb-errors.js'
import type { ConnectionTarget } from './eventstoredb-url.js'
import { DeadlineError, within } from './incoming.js'
import { RawClient } from './raw-client.js'

const firstDelayMs = 100
const maxDelayMs = 3_000
/** A connection that lasted this long was a good one: after it the intervals start short again. */
const steadyAfterMs = 10_000
const probeDeadlineMs = 5_000

/**
 * The one client there is at a time. When its connection is lost, everything is refused at once until a new one answers. That is
 * tried for ever, at growing intervals with jitter, the first try included: a server that comes back must not be met by every
 * node at the same moment.
 */
export class Connection {
  readonly #target: ConnectionTarget
  readonly #closing = new AbortController()
  #client: RawClient
  #upSinceMs = performance.now()
  /** Why there is no connection; undefined while there is one, or none was needed yet. */
  #unavailable: string | undefined
  #attempts = 0
  #reconnecting: Promise<void> | undefined

  constructor(
    target: ConnectionTarget,
    readonly deadlineMs: number,
  ) {
    this.#target = target
    this.#client = new RawClient(target, deadlineMs)
  }

  /** @throws StoreUnavailableError while there is no connection */
  get client(): RawClient {
    if (this.#closing.signal.aborted) throw new StoreUnavailableError('the event store is closed')
    if (this.#unavailable !== undefined) throw new StoreUnavailableError(this.#unavailable)
    return this.#client
  }

  /** @throws the port's errors */
  async use<Answer>(what: string, ask: (client: RawClient) => Promise<Answer>): Promise<Answer> {
    const { client } = this
    try {
      return await ask(client)
    } catch (error) {
      throw this.failed(client, error, what)
    }
  }

  /** The same for a call that is answered once. @throws StoreUnavailableError after the deadline */
  call<Answer>(what: string, ask: (client: RawClient) => Promise<Answer>): Promise<Answer> {
    return this.use(what, (client) => within(this.deadlineMs, what, ask(client)))
  }

  /** The port's error for a call that failed on this client; reconnects if the connection is lost. */
  failed(client: RawClient, error: unknown, what: string): Error {
    const failure = toStoreError(error, what)
    if (error instanceof DeadlineError || meansLostConnection(error)) this.#lost(client, failure.message)
    return failure
  }

  /** Refuses everything from now on; calls in flight fail. */
  async close(): Promise<void> {
    this.#closing.abort()
    // Ends a probe under way, and so the reconnecting.
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
      // What hangs on the old one would hang for ever.
      await this.#client.end().catch(() => undefined)
      const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#attempts)
      this.#attempts = Math.min(this.#attempts + 1, 30)
      await sleep(delayMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      this.#client = new RawClient(this.#target, this.deadlineMs)
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
