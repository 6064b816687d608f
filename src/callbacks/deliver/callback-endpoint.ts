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
  #refilledMs = Number.NEGATIVE_INFINITY

  constructor(
    readonly merchantId: string,
    readonly connection: EndpointConnection,
    readonly health: EndpointHealth,
    readonly waiting: WaitingCallbacks,
  ) {}

  mayAttempt(nowMs: number): boolean {
    if (nowMs < this.#heldUntilMs || !this.breaker.allows(this.sending, nowMs)) return false
    return this.lanes.inFlightCount < maxAttemptsPerEndpoint + maxUnreported
  }

  /** Whether the read model has more callbacks than memory. `monotonicMs` is the time of a monotonic clock. */
  needsRefill(monotonicMs: number): boolean {
    if (this.lanes.hasOverflowed) return monotonicMs - this.#refilledMs >= restartEveryMs
    return this.waiting.hasMore
  }

  refilledAt(monotonicMs: number): void {
    this.#refilledMs = monotonicMs
  }

  /** Prevents attempts until the merchant directory knows that the endpoint was disabled. */
  holdUntilKnownDisabled(nowMs: number): void {
    this.#heldUntilMs = nowMs + directoryLagMs
  }

  /** Whether it can be dropped without losing state. */
  get isIdle(): boolean {
    return this.lanes.isEmpty && !this.breaker.isOpen && !this.health.isFailing
  }
}
