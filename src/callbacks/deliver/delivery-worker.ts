import type { Logger } from 'pino'
import type { LoadedLane } from '../../commands/callback/callback-commands.js'
import type { CallbackNetworks, ResolveHost } from '../../commands/merchant/callback-networks.js'
import { nextDelivery, untilDueMs } from '../../domain/callback.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { endpointStream, streamPrefix } from '../../domain/streams.js'
import type { EventStore, Page, RecordedEvent } from '../../event-store/event-store.js'
import { Batcher } from '../../kernel/concurrency.js'
import { never, steadyClock } from '../../kernel/time.js'
import { EndpointAttempts } from '../../read-models/endpoint-attempts.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { pause } from '../../subscriptions/retry.js'
import type { CallbackMemory } from '../callback-memory.js'
import { type Attempt, type AttemptDependencies, attemptCallback } from './callback-attempt.js'
import { CallbackEndpoint, maxAttemptsPerEndpoint } from './callback-endpoint.js'
import { EndpointConnection } from './endpoint-connection.js'
import { EndpointHealth, endpointContext } from './endpoint-health.js'
import { hasDueCallbacks, WaitingCallbacks } from './waiting-callbacks.js'

export interface DeliveryDependencies extends AttemptDependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly resolve: ResolveHost
  readonly networks: CallbackNetworks
  readonly logger: Logger
}

interface WorkerDependencies extends DeliveryDependencies {
  readonly memory: CallbackMemory
}

/** Attempts in flight. Above this each endpoint may still have one, so that hanging endpoints cannot occupy every slot. */
const maxAttempts = 512
const maxAttemptsWithReserve = 1_024
/** Attempts in flight or not yet reported. While the log is unavailable, a crash sends at most this many again. */
const maxUnreported = 4_096
const maxReportsTogether = 128
const merchantsPerSearch = 500
const refillBelow = 64
/** The streams that a follower passes to {@link DeliveryWorker.take}. */
export const deliveredPrefixes = [streamPrefix.callback, endpointStream('')]

/**
 * Delivers recorded callbacks: one at a time per transfer, in the order of its revisions, and in parallel across transfers. New callbacks
 * come from the events of `callback-` streams. Callbacks that were missed or did not fit in memory come from the read model.
 */
export class DeliveryWorker {
  readonly #endpoints = new Map<string, CallbackEndpoint>()
  readonly #attempts = new Set<Promise<void>>()
  readonly #crowdedOut = new Set<CallbackEndpoint>()
  /** Lets reports start together, so that they share an append and an fsync, and followers of the log receive them in one page. */
  readonly #reports: Batcher<() => void>
  readonly #history: EndpointAttempts
  /** Attempts without a response, of all endpoints. */
  #sending = 0
  /** Endpoints that can start another attempt at the end of this turn of the event loop. */
  readonly #freed = new Set<CallbackEndpoint>()
  /** When a user last requested to send the waiting callbacks of each merchant. */
  readonly #requestedRetries = new Map<string, string>()
  /** The index of the merchant where the next search continues. */
  #searchFrom = 0
  /** The clock of everything that waits in memory. */
  readonly #nowMs: () => number

  /**
   * @param stop no attempt starts after it aborts
   * @param abort cuts off the attempts in flight, which are repeated later
   */
  constructor(
    private readonly deps: WorkerDependencies,
    private readonly stop: AbortSignal,
    private readonly abort: AbortSignal,
  ) {
    this.#nowMs = steadyClock(() => Date.parse(deps.clock()))
    this.#history = new EndpointAttempts(deps.readModels)
    this.#reports = new Batcher({
      maxItems: maxReportsTogether,
      delayMs: deps.timing.reportDelayMs,
      process: (starts) => starts.forEach((start) => void start()),
    })
  }

  /** Runs until `stop` aborts and no attempt is in flight. */
  async run(): Promise<void> {
    await Promise.all([this.#searchReadModel(), this.#offerDueCallbacks(), this.#writeHistory()])
    await Promise.all(this.#attempts)
    await this.#flushHistory()
    await Promise.all([...this.#endpoints.values()].map((endpoint) => endpoint.connection.close()))
  }

  /** Takes the next page of the streams in {@link deliveredPrefixes}, and starts attempts. */
  take({ events }: Page): void {
    for (const endpoint of new Set(events.map((event) => this.#take(event)))) if (endpoint) this.#pump(endpoint)
  }

  /** Returns the endpoint if the event gives it something to send. */
  #take({ type, data: { merchantId, trackingId, at } }: RecordedEvent): CallbackEndpoint | undefined {
    if (type === 'CallbackRetryRequested' && typeof merchantId === 'string' && typeof at === 'string') {
      this.#requestedRetries.set(merchantId, at)
      const endpoint = this.#endpoints.get(merchantId)
      endpoint?.retryFrom('request', at, this.deps.clock())
      return endpoint
    }
    if (type !== 'CallbackRecorded' && type !== 'CallbackRequeued') return undefined
    if (typeof merchantId !== 'string' || typeof trackingId !== 'string') return undefined
    const endpoint = this.#endpointOf(merchantId)
    // A user who requeues a callback expects an attempt immediately.
    if (type === 'CallbackRequeued') endpoint.breaker.probeNow()
    endpoint.lanes.offer(trackingId)
    return endpoint
  }

  async #offerDueCallbacks(): Promise<void> {
    const { dueCheckMs, searchMs } = this.deps.timing
    while (!this.stop.aborted) {
      const nowMs = this.#nowMs()
      for (const endpoint of this.#endpoints.values()) {
        this.#noteCorrections(endpoint)
        endpoint.lanes.offerDue(nowMs)
        this.#pump(endpoint)
      }
      // Without endpoints nothing can become due.
      await pause(this.#endpoints.size > 0 ? dueCheckMs : searchMs, this.stop)
    }
  }

  async #writeHistory(): Promise<void> {
    while (!this.stop.aborted) {
      await this.#flushHistory()
      await pause(this.deps.timing.historyMs, this.stop)
    }
  }

  #flushHistory(): Promise<void> {
    const failed = (err: unknown) =>
      this.deps.logger.warn({ err }, 'callbacks: the latest attempts could not be stored')
    return this.#history.flush().catch(failed)
  }

  async #searchReadModel(): Promise<void> {
    const { merchants, timing } = this.deps
    while (!this.stop.aborted) {
      const ids = [...merchants.ids()]
      try {
        for (let i = 0; i < Math.min(ids.length, merchantsPerSearch) && !this.stop.aborted; i++) {
          await this.#searchFor(ids[this.#searchFrom++ % ids.length]!)
        }
      } catch (error) {
        this.#warnSearchFailed(error)
      }
      await pause(timing.searchMs, this.stop)
    }
  }

  async #searchFor(merchantId: string): Promise<void> {
    const endpoint = this.#endpoints.get(merchantId)
    if (!this.#deliverable(merchantId)) {
      if (endpoint) this.#drop(endpoint)
    } else if (endpoint) {
      await this.#loadRequest(merchantId)
      this.#noteCorrections(endpoint)
      await this.#refill(endpoint)
      if (endpoint.isIdle) this.#drop(endpoint)
    } else {
      const { readModels, clock } = this.deps
      const retryFrom = async () => {
        await this.#loadRequest(merchantId)
        const { changedAt, requestedAt } = this.#correctionsOf(merchantId)
        return requestedAt > changedAt ? requestedAt : changedAt
      }
      if (!(await hasDueCallbacks(readModels, merchantId, clock(), retryFrom))) return
      await this.#loadRequest(merchantId)
      const added = this.#endpointOf(merchantId)
      this.#noteCorrections(added)
      await this.#refill(added)
    }
  }

  /** Reads the latest request from the log, unless it is known. @throws StoreUnavailableError */
  async #loadRequest(merchantId: string): Promise<void> {
    if (this.#requestedRetries.has(merchantId)) return
    const { retryRequestedAt } = await this.deps.commands.endpointState(merchantId)
    // An event that arrived in the meantime is newer.
    if (!this.#requestedRetries.has(merchantId)) this.#requestedRetries.set(merchantId, retryRequestedAt ?? never)
  }

  /** Returns the times of the endpoint's latest change and of the latest known request. */
  #correctionsOf(merchantId: string) {
    const changedAt = this.deps.merchants.byId(merchantId)?.endpointChangedAt ?? never
    return { changedAt, requestedAt: this.#requestedRetries.get(merchantId) ?? never }
  }

  #noteCorrections(endpoint: CallbackEndpoint): void {
    const { changedAt, requestedAt } = this.#correctionsOf(endpoint.merchantId)
    const now = this.deps.clock()
    // The first time passed to the endpoint can be old, so it must not be a placeholder.
    if (changedAt !== never) endpoint.retryFrom('change', changedAt, now)
    if (this.#requestedRetries.has(endpoint.merchantId)) endpoint.retryFrom('request', requestedAt, now)
  }

  /** Takes lanes from the read model while there is room. */
  async #refill(endpoint: CallbackEndpoint): Promise<void> {
    const { lanes, waiting } = endpoint
    if (lanes.room === 0 || endpoint.isRefilling) return
    endpoint.isRefilling = true
    endpoint.refilledMs = performance.now()
    try {
      if (lanes.hasOverflowed) waiting.restart()
      lanes.hasOverflowed = false
      const found = await waiting.next(this.deps.clock(), lanes.room)
      for (const trackingId of found) if (!lanes.has(trackingId)) lanes.offer(trackingId)
    } finally {
      endpoint.isRefilling = false
    }
    // In a later turn: page after page of known lanes would otherwise block the event loop.
    setImmediate(() => this.#pump(endpoint))
  }

  /** Starts as many attempts as the limits allow, unless the endpoint was dropped: its connections are closed, and its successor sends. */
  #pump(endpoint: CallbackEndpoint): void {
    if (this.#endpoints.get(endpoint.merchantId) !== endpoint) return
    while (!this.stop.aborted && this.#mayAttempt(endpoint)) {
      const trackingId = endpoint.lanes.take()
      if (trackingId === undefined) break
      endpoint.sending++
      this.#sending++
      const running = this.#serve(endpoint, trackingId).finally(() => this.#attempts.delete(running))
      this.#attempts.add(running)
    }
    const hasEnough = endpoint.lanes.readyCount >= refillBelow || !endpoint.needsRefill(performance.now())
    if (!hasEnough && !this.stop.aborted) this.#refill(endpoint).catch((error) => this.#warnSearchFailed(error))
  }

  #mayAttempt(endpoint: CallbackEndpoint): boolean {
    if (endpoint.lanes.readyCount === 0 || !endpoint.mayAttempt()) return false
    if (!this.#deliverable(endpoint.merchantId)) return false
    const limit = endpoint.sending === 0 ? maxAttemptsWithReserve : maxAttempts
    const isFree = this.#sending < limit && this.#attempts.size < maxUnreported
    if (!isFree) this.#crowdedOut.add(endpoint)
    return isFree
  }

  /** Pumps once for all attempts that end in the same turn of the event loop. */
  #pumpSoon(endpoint: CallbackEndpoint): void {
    if (this.#freed.size === 0) setImmediate(() => this.#pumpFreed())
    this.#freed.add(endpoint)
  }

  /** Starts with the endpoints that found no free slot. Otherwise the endpoints whose attempts end would always take the slots again. */
  #pumpFreed(): void {
    const freed = [...this.#freed]
    this.#freed.clear()
    for (const endpoint of [...this.#crowdedOut]) {
      this.#crowdedOut.delete(endpoint)
      this.#pump(endpoint)
      // No slot is left. The endpoint is now the last of those that wait.
      if (this.#crowdedOut.has(endpoint)) break
    }
    for (const endpoint of freed) this.#pump(endpoint)
  }

  /** Returns the merchant unless its callbacks are disabled. */
  #deliverable(merchantId: string): Merchant | undefined {
    const merchant = this.deps.merchants.byId(merchantId)
    return merchant && merchant.callbacksDisabled === null ? merchant : undefined
  }

  /** Gives a lane one turn, with at most one attempt. Never rejects. */
  async #serve(endpoint: CallbackEndpoint, trackingId: string): Promise<void> {
    const { lanes } = endpoint
    let isSending = true
    const freeSlot = () => {
      if (!isSending) return
      isSending = false
      endpoint.sending--
      this.#sending--
      this.#pumpSoon(endpoint)
    }
    let hasMore = false
    try {
      hasMore = await this.#sendNext(endpoint, trackingId, freeSlot)
    } catch (error) {
      if (!this.abort.aborted) {
        this.deps.logger.error({ err: error, trackingId }, 'callbacks: a callback could not be attempted')
        lanes.postpone(trackingId, this.#nowMs() + this.deps.timing.errorPauseMs)
      }
    }
    freeSlot()
    lanes.release(trackingId)
    if (hasMore) lanes.offer(trackingId)
    this.#pumpSoon(endpoint)
  }

  /** Returns true if the lane may have another callback to send now. Calls `freeSlot` when the endpoint has responded. */
  async #sendNext(endpoint: CallbackEndpoint, trackingId: string, freeSlot: () => void): Promise<boolean> {
    const lane = await this.#laneOf(trackingId)
    const delivery = nextDelivery(lane.state)
    const merchant = this.#deliverable(endpoint.merchantId)
    if (!delivery || !merchant) return false
    const waitMs = untilDueMs(delivery, Date.parse(this.deps.clock()))
    if (waitMs > 0 && endpoint.endsWaitOf(delivery, this.deps.clock())) {
      // Its attempts count from zero again, and the event offers the lane.
      const { webhookId } = delivery
      await this.deps.commands.requeue(trackingId, { webhookId }, endpointContext(endpoint.merchantId))
      return false
    }
    if (waitMs > 0) {
      endpoint.lanes.postpone(trackingId, this.#nowMs() + waitMs)
      return false
    }
    const onResponse = () => {
      freeSlot()
      return new Promise<void>((start) => {
        this.#reports.add(start)
        // Without other attempts in flight there is nothing to wait for.
        if (this.#sending === 0) void this.#reports.flush()
      })
    }
    const appendToLane: Attempt['appendToLane'] = (work) =>
      this.deps.memory.append(trackingId, (newest) => work(newest ?? lane))
    this.#noteCorrections(endpoint)
    const { corrections } = endpoint
    const attempt = { endpoint, merchant, trackingId, lane, delivery, appendToLane, onResponse }
    const { outcome, response, lane: reported } = await attemptCallback(this.deps, attempt, this.abort)
    const { httpStatus, durationMs, failure, redirectsTo } = response
    const { webhookId, payload } = delivery
    const { referenceId, status: transferStatus } = payload
    const excerpt = redirectsTo === undefined ? response.excerpt : `Location: ${redirectsTo}`
    const body = excerpt !== undefined && { body: excerpt }
    const [at, sent] = [this.deps.clock(), { webhookId, trackingId, referenceId, transferStatus }]
    this.#history.note(merchant.merchantId, { at, ...sent, httpStatus, durationMs, failure, ...body })
    this.deps.memory.keep(trackingId, reported)
    this.#noteCorrections(endpoint)
    if (outcome.result !== 'delivered' && endpoint.corrections !== corrections) {
      // The failure is one of the endpoint before its correction. The event offers the lane.
      await this.deps.commands.requeue(trackingId, { webhookId }, endpointContext(endpoint.merchantId))
      return false
    }
    const next = nextDelivery(reported.state)
    if (outcome.result !== 'failed' || next === undefined) return next !== undefined
    endpoint.lanes.postpone(trackingId, this.#nowMs() + untilDueMs(next, Date.parse(this.deps.clock())))
    return false
  }

  async #laneOf(trackingId: string): Promise<LoadedLane> {
    const { memory, commands } = this.deps
    const known = memory.laneToSend(trackingId)
    if (known) return known
    const lane = await commands.load(trackingId)
    memory.keep(trackingId, lane)
    return lane
  }

  #endpointOf(merchantId: string): CallbackEndpoint {
    let endpoint = this.#endpoints.get(merchantId)
    if (!endpoint) {
      const { readModels, commands, merchantCommands, resolve, networks, timing } = this.deps
      const connection = {
        resolve,
        networks,
        timeoutMs: timing.attemptTimeoutMs,
        maxConnections: maxAttemptsPerEndpoint,
      }
      endpoint = new CallbackEndpoint(
        merchantId,
        new EndpointConnection(connection),
        new EndpointHealth(merchantCommands, commands, merchantId),
        new WaitingCallbacks(readModels, merchantId, this.#nowMs),
        this.#nowMs,
      )
      this.#endpoints.set(merchantId, endpoint)
    }
    return endpoint
  }

  /** Drops the endpoint's state. The search adds the endpoint again when a callback is due. */
  #drop(endpoint: CallbackEndpoint): void {
    // The refill would find lanes for an endpoint that the worker no longer knows, and a new one would send their callbacks too.
    if (endpoint.isRefilling) return
    endpoint.lanes.clear()
    endpoint.waiting.restart()
    if (endpoint.lanes.inFlightCount > 0) return
    this.#endpoints.delete(endpoint.merchantId)
    void endpoint.connection.close()
  }

  #warnSearchFailed(err: unknown): void {
    this.deps.logger.warn({ err }, 'callbacks: the search for waiting callbacks failed')
  }
}
