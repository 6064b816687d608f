import type { LeaseClock } from '../../src/read-models/leases.js'

interface Timer {
  readonly owner: SimulatedProcess
  readonly dueMs: number
  readonly order: number
  readonly callback: () => void
}

/** A virtual time for several simulated processes, which advances only from timer to timer. */
export class SimulatedTime {
  nowMs = 1_000_000
  readonly #timers = new Set<Timer>()
  #order = 0

  add(owner: SimulatedProcess, dueMs: number, callback: () => void): () => void {
    const timer = { owner, dueMs, order: this.#order++, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  async runUntil(endMs: number): Promise<void> {
    for (;;) {
      // The work that a timer started runs as far as possible before the next timer fires.
      await new Promise((resolve) => setImmediate(resolve))
      const firing = (timer: Timer): number => timer.owner.firesAtMs(timer.dueMs)
      const [next] = [...this.#timers].sort((a, b) => firing(a) - firing(b) || a.dueMs - b.dueMs || a.order - b.order)
      if (next === undefined || firing(next) > endMs) break
      this.#timers.delete(next)
      this.nowMs = Math.max(this.nowMs, firing(next))
      next.callback()
    }
    this.nowMs = endMs
  }
}

/** A process whose clock is off by `skewMs` and that does nothing during its pauses. The last pause may never end. */
export class SimulatedProcess implements LeaseClock {
  constructor(
    readonly time: SimulatedTime,
    readonly skewMs: number,
    readonly pauses: readonly { readonly fromMs: number; readonly toMs: number }[],
  ) {}

  nowMs(): number {
    return this.time.nowMs + this.skewMs
  }

  monotonicMs(): number {
    return this.time.nowMs
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    return this.time.add(this, this.time.nowMs + Math.max(delayMs, 1), callback)
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.setTimer(resolve, delayMs))
  }

  firesAtMs(dueMs: number): number {
    let atMs = dueMs
    for (const { fromMs, toMs } of this.pauses) if (atMs >= fromMs && atMs < toMs) atMs = toMs
    return atMs
  }
}
