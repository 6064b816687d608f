const opensAfterFailures = 20
const opensAfterMs = 10_000
const firstProbeMs = 1_000
const lastProbeMs = 10_000

/**
 * Stops hammering an endpoint that fails. After 20 failures in a row, whichever transfers they were of, over at least ten
 * seconds (many callbacks that fail in one moment are no dead endpoint), one attempt at a time goes out, at first after a
 * second, then after twice as long each time, at most ten seconds; the first success closes it.
 * A probe is an ordinary attempt of a callback that is due; what is not attempted meanwhile counts for nothing, so attempts
 * come later than the schedule says by at most the time to the next success, never earlier, never fewer.
 */
export class Breaker {
  private failures = 0
  private firstFailureMs = 0
  private isOpen = false
  private probes = 0
  private nextProbeMs = 0

  constructor(private readonly maxInFlight: number) {}

  get open(): boolean {
    return this.isOpen
  }

  /** Whether an attempt may begin beside those in flight. */
  allows(inFlight: number, nowMs: number): boolean {
    return this.isOpen ? inFlight === 0 && nowMs >= this.nextProbeMs : inFlight < this.maxInFlight
  }

  succeeded(): void {
    this.failures = 0
    this.isOpen = false
    this.probes = 0
    this.nextProbeMs = 0
  }

  failed(nowMs: number): void {
    if (this.failures++ === 0) this.firstFailureMs = nowMs
    if (this.failures < opensAfterFailures || nowMs - this.firstFailureMs < opensAfterMs) return
    this.isOpen = true
    // Attempts that were under way as it opened fail late; they are no probes.
    if (nowMs < this.nextProbeMs) return
    this.nextProbeMs = nowMs + Math.min(lastProbeMs, firstProbeMs * 2 ** this.probes)
    this.probes++
  }

  /** Somebody asks for an attempt now. */
  probeNow(): void {
    this.nextProbeMs = 0
  }
}
