import type { Logger } from 'pino'
import { nextDelivery } from '../../domain/callback/callback-decider.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { streamPrefix } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import { Batcher } from '../../kernel/batcher.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { follow } from '../../subscriptions/follow.js'
import { pause } from '../../subscriptions/retry.js'
import type { ResolveHost } from './address-guard.js'
import { type AttemptDependencies, attempt } from './attempt.js'
import { Endpoint, maxAttemptsPerEndpoint } from './endpoint.js'
import { EndpointHealth } from './endpoint-health.js'
import { EndpointConnection } from './send.js'
import { hasDueCallbacks, WaitingCallbacks } from './waiting-callbacks.js'

export interface DeliveryDependencies extends AttemptDependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly resolve: ResolveHost
  readonly logger: Logger
  readonly attemptTimeoutMs: number
}

/** Attempts in flight; beyond it each endpoint may still have one, so that endpoints that hang cannot take every place. */
const maxAttempts = 512
const maxAttemptsWithReserve = 1_024
/** Attempts in flight and those answered and not written down yet: what a crash may send again while the log takes nothing. */
const maxUnwritten = 4_096
const tickMs = 200
const maxReportsTogether = 128
const reportDelayMs = 20
const searchEveryMs = 1_000
const merchantsPerSearch = 500
const refillBelow = 64
/** After an unexpected error, such as a secret that cannot be opened. It does not count as an attempt. */
const afterErrorMs = 30_000

/**
 * Sends recorded callbacks: one at a time per transfer, in order of its revisions; transfers in parallel. New callbacks come
 * from the events of `callback-` streams; what was missed or did not fit in memory comes from the read model.
 */
export class DeliveryWorker {
  readonly #endpoints = new Map<string, Endpoint>()
  readonly #attempts = new Set<Promise<void>>()
  readonly #searches = new Set<string>()
  readonly #crowdedOut = new Set<Endpoint>()
  /**
   * Starts the reports of attempts together, so that they share an append and an fsync, and followers of the log receive them in one page.
   */
  readonly #reports = new Batcher<() => void>({
    maxItems: maxReportsTogether,
    delayMs: reportDelayMs,
    process: (starts) => {
      for (const start of starts) start()
    },
  })
  /** Attempts whose answer is not known yet, of all endpoints. */
  #sending = 0
  /** Endpoints to which another attempt may go out, by the end of the turn of the event loop. */
  readonly #freed = new Set<Endpoint>()
  /** Where the next search continues among the merchants. */
  #searchFrom = 0

  /** `stop`: nothing new is begun. `abort`: what is in flight is cut off, and will be repeated. */
  constructor(
    private readonly deps: DeliveryDependencies,
    private readonly stop: AbortSignal,
    private readonly abort: AbortSignal,
  ) {}

  /** Until `stop` aborts and everything in flight has ended. */
  async run(): Promise<void> {
    await Promise.all([this.#followNudges(), this.#search(), this.#tick()])
    await Promise.all(this.#attempts)
    await Promise.all([...this.#endpoints.values()].map((endpoint) => endpoint.connection.close()))
  }

  async #followNudges(): Promise<void> {
    const { store, logger } = this.deps
    await follow({
      ...{ store, after: 'end', streamPrefixes: [streamPrefix.callback], signal: this.stop },
      isRetried: () => true,
      onUnavailable: (err) => logger.warn({ err }, 'callbacks: following new callbacks broke off, trying again'),
      handle: (page) => {
        for (const { type, data } of page.events) this.#nudge(type, data)
      },
    })
  }

  #nudge(type: string, data: { readonly [name: string]: unknown }): void {
    const { merchantId, trackingId } = data
    if (typeof merchantId !== 'string' || typeof trackingId !== 'string') return
    if (type !== 'CallbackRecorded' && type !== 'CallbackRequeued') return
    const endpoint = this.#endpointOf(merchantId)
    // Whoever asks for it to be sent again expects it at once.
    if (type === 'CallbackRequeued') endpoint.breaker.probeNow()
    endpoint.lanes.offer(trackingId)
    this.#pump(endpoint)
  }

  async #tick(): Promise<void> {
    while (!this.stop.aborted) {
      const nowMs = this.#nowMs()
      for (const endpoint of this.#endpoints.values()) {
        endpoint.lanes.offerDue(nowMs)
        this.#pump(endpoint)
      }
      // Without endpoints there is nothing that could become due.
      await pause(this.#endpoints.size > 0 ? tickMs : searchEveryMs, this.stop)
    }
  }

  async #search(): Promise<void> {
    const { merchants, logger } = this.deps
    while (!this.stop.aborted) {
      const ids = [...merchants.ids()]
      try {
        for (let i = 0; i < Math.min(ids.length, merchantsPerSearch) && !this.stop.aborted; i++) {
          await this.#searchFor(ids[this.#searchFrom++ % ids.length]!)
        }
      } catch (error) {
        logger.warn({ err: error }, 'callbacks: the search for waiting callbacks failed')
      }
      await pause(searchEveryMs, this.stop)
    }
  }

  async #searchFor(merchantId: string): Promise<void> {
    const endpoint = this.#endpoints.get(merchantId)
    if (!this.#deliverable(merchantId)) {
      if (endpoint) this.#forget(endpoint)
    } else if (endpoint) {
      await this.#refill(endpoint)
      if (endpoint.isIdle) this.#forget(endpoint)
    } else if (await hasDueCallbacks(this.deps.readModels, merchantId, this.deps.clock())) {
      await this.#refill(this.#endpointOf(merchantId))
    }
  }

  /** Takes lanes from the read model while there is room for them. */
  async #refill(endpoint: Endpoint): Promise<void> {
    const { merchantId, lanes, waiting } = endpoint
    if (lanes.room === 0 || this.#searches.has(merchantId)) return
    this.#searches.add(merchantId)
    endpoint.refilledAt(performance.now())
    try {
      if (lanes.overflowed) waiting.restart()
      lanes.overflowed = false
      const found = await waiting.next(this.deps.clock(), lanes.room)
      for (const trackingId of found) if (!lanes.knows(trackingId)) lanes.offer(trackingId)
    } finally {
      this.#searches.delete(merchantId)
    }
    // Not at once: page after page of lanes that are known already would keep everything else from its turn.
    setImmediate(() => this.#pump(endpoint))
  }

  #pump(endpoint: Endpoint): void {
    while (!this.stop.aborted && this.#mayAttempt(endpoint)) {
      const trackingId = endpoint.lanes.take()
      if (trackingId === undefined) break
      endpoint.sending++
      this.#sending++
      const running = this.#serve(endpoint, trackingId).finally(() => this.#attempts.delete(running))
      this.#attempts.add(running)
    }
    if (endpoint.lanes.readyCount >= refillBelow || !endpoint.wantsRefill(performance.now()) || this.stop.aborted)
      return
    this.#refill(endpoint).catch((error) => {
      this.deps.logger.warn({ err: error }, 'callbacks: the search for waiting callbacks failed')
    })
  }

  #mayAttempt(endpoint: Endpoint): boolean {
    if (endpoint.lanes.readyCount === 0 || !endpoint.mayAttempt(this.#nowMs())) return false
    if (!this.#deliverable(endpoint.merchantId)) return false
    const limit = endpoint.sending === 0 ? maxAttemptsWithReserve : maxAttempts
    const free = this.#sending < limit && this.#attempts.size < maxUnwritten
    if (!free) this.#crowdedOut.add(endpoint)
    return free
  }

  /** Once for all that end in the same turn of the event loop. */
  #pumpSoon(endpoint: Endpoint): void {
    if (this.#freed.size === 0) setImmediate(() => this.#pumpFreed())
    this.#freed.add(endpoint)
  }

  /** Endpoints that found no place come first, or those whose attempts have ended would always take them again. */
  #pumpFreed(): void {
    const freed = [...this.#freed]
    this.#freed.clear()
    for (const endpoint of [...this.#crowdedOut]) {
      this.#crowdedOut.delete(endpoint)
      this.#pump(endpoint)
      // No place is left: it waits for the next one behind the others.
      if (this.#crowdedOut.has(endpoint)) break
    }
    for (const endpoint of freed) this.#pump(endpoint)
  }

  /** The merchant, unless its callbacks are held back. */
  #deliverable(merchantId: string): Merchant | undefined {
    const merchant = this.deps.merchants.byId(merchantId)
    return merchant && merchant.callbacksDisabled === null ? merchant : undefined
  }

  /** One turn of a lane: at most one attempt, then the next lane. Never rejects. */
  async #serve(endpoint: Endpoint, trackingId: string): Promise<void> {
    const { lanes } = endpoint
    let isSending = true
    const sent = () => {
      if (!isSending) return
      isSending = false
      endpoint.sending--
      this.#sending--
      this.#pumpSoon(endpoint)
    }
    let again = false
    try {
      again = await this.#sendNext(endpoint, trackingId, sent)
    } catch (error) {
      if (!this.abort.aborted) {
        this.deps.logger.error({ err: error, trackingId }, 'callbacks: a callback could not be attempted')
        lanes.postpone(trackingId, this.#nowMs() + afterErrorMs)
      }
    }
    sent()
    lanes.release(trackingId)
    if (again) lanes.offer(trackingId)
    this.#pumpSoon(endpoint)
  }

  /** True when the lane may have something more to send now. `sent` is called when the endpoint has answered. */
  async #sendNext(endpoint: Endpoint, trackingId: string, sent: () => void): Promise<boolean> {
    const { commands } = this.deps
    const loaded = await commands.load(trackingId)
    const delivery = nextDelivery(loaded.state)
    const merchant = this.#deliverable(endpoint.merchantId)
    if (!delivery || !merchant) return false
    const dueMs = Date.parse(delivery.nextAttemptAt)
    if (dueMs > this.#nowMs()) {
      endpoint.lanes.postpone(trackingId, dueMs)
      return false
    }
    const answered = () => {
      sent()
      return new Promise<void>((start) => {
        this.#reports.add(start)
        // Without other attempts in flight there is nothing to wait for.
        if (this.#sending === 0) void this.#reports.flush()
      })
    }
    const attempted = { endpoint, merchant, trackingId, lane: loaded, delivery, answered }
    const { outcome, lane } = await attempt(this.deps, attempted, this.abort)
    if (outcome.result !== 'failed') return nextDelivery(lane) !== undefined
    endpoint.lanes.postpone(trackingId, Date.parse(outcome.nextAttemptAt))
    return false
  }

  #endpointOf(merchantId: string): Endpoint {
    let endpoint = this.#endpoints.get(merchantId)
    if (!endpoint) {
      const { store, readModels, commands, resolve, attemptTimeoutMs: timeoutMs } = this.deps
      endpoint = new Endpoint(
        merchantId,
        new EndpointConnection({ resolve, timeoutMs, maxConnections: maxAttemptsPerEndpoint }),
        new EndpointHealth(store, commands, merchantId),
        new WaitingCallbacks(readModels, merchantId),
      )
      this.#endpoints.set(merchantId, endpoint)
    }
    return endpoint
  }

  /** The read model brings it back when there is something to send. */
  #forget(endpoint: Endpoint): void {
    endpoint.lanes.clear()
    endpoint.waiting.restart()
    if (endpoint.lanes.inFlightCount > 0) return
    this.#endpoints.delete(endpoint.merchantId)
    void endpoint.connection.close()
  }

  #nowMs(): number {
    return Date.parse(this.deps.clock())
  }
}
