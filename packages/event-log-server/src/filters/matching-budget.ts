import { setTimeout as sleep } from 'node:timers/promises'

/** How long matching may take at once; a budget refills by this share of the time that passes. */
export const maxMatchingMs = 250
const share = 0.1
/** With less than this it is no use to begin. */
const leastMs = 25
const maxBudgets = 1_000

/** Time for all regular expressions of one connection: together they cannot hold up the server. */
export class MatchingBudget {
  #leftMs = maxMatchingMs
  #atMs: number

  constructor(
    private readonly nowMs: () => number = () => performance.now(),
    private readonly wait: (ms: number) => Promise<unknown> = (ms) => sleep(ms, undefined, { ref: false }),
  ) {
    this.#atMs = nowMs()
  }

  get isFull(): boolean {
    return this.#left() >= maxMatchingMs
  }

  /**
   * Runs the task within what is left of the budget, and waits first when that is little. The task is told how long it may
   * take, and answers undefined when it was cut off. Undefined: it was, even with a full budget.
   */
  async spend<Result>(task: (withinMs: number) => Result | undefined): Promise<Result | undefined> {
    for (let neededMs = leastMs; ; neededMs = maxMatchingMs) {
      // Others who waited may have been quicker.
      while (this.#left() < neededMs) await this.wait(Math.ceil((neededMs - this.#leftMs) / share))
      const withinMs = this.#leftMs
      const startedAtMs = this.nowMs()
      const result = task(Math.ceil(withinMs))
      this.#leftMs = Math.max(0, this.#leftMs - (this.nowMs() - startedAtMs))
      this.#atMs = this.nowMs()
      if (result !== undefined || withinMs >= maxMatchingMs) return result
    }
  }

  #left(): number {
    const nowMs = this.nowMs()
    this.#leftMs = Math.min(maxMatchingMs, this.#leftMs + (nowMs - this.#atMs) * share)
    this.#atMs = nowMs
    return this.#leftMs
  }
}

export class MatchingBudgets {
  /** One for all groups, which belong to no connection. */
  readonly ofGroups = new MatchingBudget()
  readonly #byPeer = new Map<string, MatchingBudget>()

  /** Of a connection. @param peer its address and port */
  ofPeer(peer: string): MatchingBudget {
    const known = this.#byPeer.get(peer)
    if (known) return known
    if (this.#byPeer.size >= maxBudgets) {
      // One that is full is as good as a new one.
      for (const [known, budget] of this.#byPeer) if (budget.isFull) this.#byPeer.delete(known)
    }
    const budget = new MatchingBudget()
    this.#byPeer.set(peer, budget)
    return budget
  }
}
