const opensAfterFailures = 20
const opensAfterMs = 10_000
const firstProbeMs = 1_000
const lastProbeMs = 10_000

/**
 * Limits the attempts to a failing endpoint. It opens after 20 consecutive failures, of any transfers, over at least ten seconds, because
 * many callbacks that fail at the same time do not prove a dead endpoint. Then one attempt at a time is allowed: the first after a second,
 * each following one after twice as long, at most ten seconds. The first success closes it.
 *
 * A probe is a normal attempt of a callback that is due. A delayed callback is not an attempt: it is sent later than scheduled, never
 * earlier, and as many times.
 */
export class CircuitBreaker {
  #failures = 0
  #firstFailureMs = 0
  #probes = 0
  #nextProbeMs = 0
  isOpen = false

  constructor(private readonly maxInFlight: number) {}

  allows(inFlight: number, nowMs: number): boolean {
    return this.isOpen ? inFlight === 0 && nowMs >= this.#nextProbeMs : inFlight < this.maxInFlight
  }

  recordSuccess(): void {
    this.#failures = 0
    this.isOpen = false
    this.#probes = 0
    this.#nextProbeMs = 0
  }

  recordFailure(nowMs: number): void {
    if (this.#failures++ === 0) this.#firstFailureMs = nowMs
    if (this.#failures < opensAfterFailures || nowMs - this.#firstFailureMs < opensAfterMs) return
    this.isOpen = true
    // Attempts that were in flight when it opened fail later. They are not probes.
    if (nowMs < this.#nextProbeMs) return
    this.#nextProbeMs = nowMs + Math.min(lastProbeMs, firstProbeMs * 2 ** this.#probes)
    this.#probes++
  }

  /** Allows the next probe immediately, because a user requested an attempt. */
  probeNow(): void {
    this.#nextProbeMs = 0
  }
}
