const opensAfterFailures = 20
const opensAfterMs = 10_000
const firstProbeMs = 1_000
const lastProbeMs = 10_000

/**
 * Stops hammering an endpoint that fails. It opens after 20 failures in a row, of whichever transfers, over at least ten
 * seconds: many callbacks that fail in one moment are no dead endpoint. Then one attempt at a time goes out, at first after a
 * second, then after twice as long each time, at most ten seconds. The first success closes it.
 * A probe is an ordinary attempt of a callback that is due. What is held back meanwhile is no attempt: it comes later than
 * the schedule says, but never earlier, and no fewer times.
 */
export class Breaker {
  #failures = 0
  #firstFailureMs = 0
  #open = false
  #probes = 0
  #nextProbeMs = 0

  constructor(private readonly maxInFlight: number) {}

  get open(): boolean {
    return this.#open
  }

  /** Whether an attempt may begin beside those in flight. */
  allows(inFlight: number, nowMs: number): boolean {
    return this.#open ? inFlight === 0 && nowMs >= this.#nextProbeMs : inFlight < this.maxInFlight
  }

  succeeded(): void {
    this.#failures = 0
    this.#open = false
    this.#probes = 0
    this.#nextProbeMs = 0
  }

  failed(nowMs: number): void {
    if (this.#failures++ === 0) this.#firstFailureMs = nowMs
    if (this.#failures < opensAfterFailures || nowMs - this.#firstFailureMs < opensAfterMs) return
    this.#open = true
    // Attempts that were under way as it opened fail late; they are no probes.
    if (nowMs < this.#nextProbeMs) return
    this.#nextProbeMs = nowMs + Math.min(lastProbeMs, firstProbeMs * 2 ** this.#probes)
    this.#probes++
  }

  /** Somebody asks for an attempt now. */
  probeNow(): void {
    this.#nextProbeMs = 0
  }
}
