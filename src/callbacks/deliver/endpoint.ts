import { Breaker } from './breaker.js'
import type { EndpointHealth } from './endpoint-health.js'
import { LaneQueue } from './lane-queue.js'
import type { EndpointConnection } from './send.js'
import type { WaitingCallbacks } from './waiting-callbacks.js'

export const maxAttemptsPerEndpoint = 16
/** Answered and not written down yet, by a log that is slow: as many at most may be sent again after a crash. */
const maxUnreported = 240

/** The directory follows the log within milliseconds. */
const directoryLagMs = 1_000

/** A search that restarts in a lagging read model finds callbacks that were already delivered; one that continues does not. */
const restartEveryMs = 100

/** What the worker knows of one merchant's endpoint; nothing here is shared with another merchant's. */
export class Endpoint {
  readonly lanes = new LaneQueue()
  readonly breaker = new Breaker(maxAttemptsPerEndpoint)
  /** Attempts whose answer is not known yet. Their lanes are in flight for longer: until the answer is written down. */
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

  /** There is more in the read model than in memory, by a monotonic clock. */
  wantsRefill(monotonicMs: number): boolean {
    if (this.lanes.overflowed) return monotonicMs - this.#refilledMs >= restartEveryMs
    return this.waiting.hasMore
  }

  refilledAt(monotonicMs: number): void {
    this.#refilledMs = monotonicMs
  }

  /** It was disabled just now, which the merchant directory may not know yet. */
  holdUntilKnownDisabled(nowMs: number): void {
    this.#heldUntilMs = nowMs + directoryLagMs
  }

  /** Nothing would be lost by forgetting it. */
  get isIdle(): boolean {
    return this.lanes.isEmpty && !this.breaker.open && !this.health.isFailing
  }
}
