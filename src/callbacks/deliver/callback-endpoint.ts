import type { Delivery } from '../../domain/callback.js'
import { never } from '../../kernel/time.js'
import { CircuitBreaker } from './circuit-breaker.js'
import type { EndpointConnection } from './endpoint-connection.js'
import type { EndpointHealth } from './endpoint-health.js'
import { LaneQueue } from './lane-queue.js'
import type { WaitingCallbacks } from './waiting-callbacks.js'

export const maxAttemptsPerEndpoint = 16
/** Attempts with a response that a slow log has not recorded yet. A crash sends at most this many again. */
const maxUnreported = 240

/** The merchant directory follows the log within milliseconds. */
const directoryLagMs = 1_000

/** A search that restarts in a lagging read model finds callbacks that were already delivered; one that continues does not. */
const restartEveryMs = 100

/** The worker's state of one merchant's endpoint. It shares nothing with other merchants' endpoints. */
export class CallbackEndpoint {
  readonly lanes = new LaneQueue()
  readonly breaker = new CircuitBreaker(maxAttemptsPerEndpoint)
  /** Attempts without a response. Their lanes stay in flight longer: until the attempt is reported. */
  sending = 0
  #heldUntilMs = 0
  readonly #known: { change?: string; request?: string } = {}
  #retryFrom = never
  /** Grows with each change and request. An attempt during which it grows was made to the endpoint before its correction. */
  corrections = 0
  refilledMs = Number.NEGATIVE_INFINITY
  isRefilling = false

  constructor(
    readonly merchantId: string,
    readonly connection: EndpointConnection,
    readonly health: EndpointHealth,
    readonly waiting: WaitingCallbacks,
    /** A clock that never goes back, for everything that waits in memory. */
    readonly nowMs: () => number,
  ) {}

  mayAttempt(): boolean {
    const nowMs = this.nowMs()
    if (nowMs < this.#heldUntilMs || !this.breaker.allows(this.sending, nowMs)) return false
    return this.lanes.inFlightCount < maxAttemptsPerEndpoint + maxUnreported
  }

  /** Whether the read model has more callbacks than memory. `monotonicMs` is the time of a monotonic clock. */
  needsRefill(monotonicMs: number): boolean {
    if (this.lanes.hasOverflowed) return monotonicMs - this.refilledMs >= restartEveryMs
    return this.waiting.hasMore
  }

  /**
   * Notes the latest change of the endpoint, or request to send what waits, after which callbacks that wait after a failed attempt are sent
   * again; times are ISO 8601. A node whose clock is ahead can have made it in the future, and a clock can be set back since: a change is
   * new if its time is different. One that happens now ends all waits until now, and the wait of each attempt in flight ({@link corrections}).
   */
  retryFrom(kind: 'change' | 'request', at: string, now: string): void {
    const known = this.#known[kind]
    if (at === known) return
    this.#known[kind] = at
    // The first one that is known can be old. Later failures must not count as earlier.
    const from = known === undefined && at < now ? at : now
    if (known === undefined && from <= this.#retryFrom) return
    this.#retryFrom = from
    this.corrections++
    this.breaker.probeNow()
    this.lanes.endWaits()
    this.waiting.retryFrom(from)
  }

  /** Whether the wait of a callback ends early. If the clock was set back since the change, its later failures would count as earlier. */
  endsWaitOf({ attempts, waitingSince }: Delivery, now: string): boolean {
    return attempts > 0 && waitingSince < this.#retryFrom && this.#retryFrom <= now
  }

  /** Prevents attempts until the merchant directory knows that the endpoint was disabled. */
  holdUntilKnownDisabled(): void {
    this.#heldUntilMs = this.nowMs() + directoryLagMs
  }

  /** Whether it can be dropped without losing state. */
  get isIdle(): boolean {
    return this.lanes.isEmpty && !this.waiting.hasMore && !this.breaker.isOpen && !this.health.isFailing
  }
}
