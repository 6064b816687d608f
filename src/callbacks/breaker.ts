const opensAfterFailures = 20
const firstProbeMs = 1_000
const lastProbeMs = 30_000

/**
 * Stops hammering an endpoint that fails. After 20 failures in a row, whichever transfers they were of, one attempt at a time
 * goes out, at first after a second, then after twice as long each time, at most 30 seconds; the first success closes it.
 * A probe is an ordinary attempt of a callback that is due; what is not attempted meanwhile counts for nothing, so attempts
 * come later than the schedule says by at most the time to the next success, never earlier, never fewer.
 */
export class Breaker {
  private failures = 0
  private probes = 0
  private nextProbeMs = 0

  constructor(private readonly maxInFlight: number) {}

  get open(): boolean {
    return this.failures >= opensAfterFailures
  }

  /** Whether an attempt may begin beside those in flight. */
  allows(inFlight: number, nowMs: number): boolean {
    return this.open ? inFlight === 0 && nowMs >= this.nextProbeMs : inFlight < this.maxInFlight
  }

  succeeded(): void {
    this.failures = 0
    this.probes = 0
  }

  failed(nowMs: number): void {
    this.failures++
    // Attempts that were under way as it opened fail late; they are no probes.
    if (!this.open || nowMs < this.nextProbeMs) return
    this.nextProbeMs = nowMs + Math.min(lastProbeMs, firstProbeMs * 2 ** this.probes)
    this.probes++
  }

  /** Somebody asks for an attempt now. */
  probeNow(): void {
    this.nextProbeMs = 0
  }
}
