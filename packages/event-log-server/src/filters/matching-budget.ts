import { setTimeout as sleep } from 'node:timers/promises'

/** The maximum time for matching in one go. A budget is refilled with this share of the elapsed time. */
const maxMatchingMs = 250
const share = 0.1
/** The minimum time that is worth starting with. */
const minMatchingMs = 25
const maxBudgets = 1_000

/** The time for all regular expressions of a connection, which together cannot block the server. */
export class MatchingBudget {
  #leftMs = maxMatchingMs
  #updatedAtMs: number

  constructor(
    private readonly nowMs: () => number = () => performance.now(),
    private readonly wait: (ms: number) => Promise<unknown> = (ms) => sleep(ms, undefined, { ref: false }),
  ) {
    this.#updatedAtMs = nowMs()
  }

  get isFull(): boolean {
    return this.#left() >= maxMatchingMs
  }

  /**
   * Runs a task within the remaining budget, after waiting if that is too small. The task receives its time limit and returns
   * `undefined` if it was aborted. The method returns `undefined` if the task was aborted even with a full budget.
   */
  async spend<Result>(task: (withinMs: number) => Result | undefined): Promise<Result | undefined> {
    for (let neededMs = minMatchingMs; ; neededMs = maxMatchingMs) {
      // Concurrent tasks may have used the budget while this one waited.
      while (this.#left() < neededMs) await this.wait(Math.ceil((neededMs - this.#leftMs) / share))
      const withinMs = this.#leftMs
      const startedAtMs = this.nowMs()
      const result = task(Math.ceil(withinMs))
      this.#leftMs = Math.max(0, this.#leftMs - (this.nowMs() - startedAtMs))
      this.#updatedAtMs = this.nowMs()
      if (result !== undefined || withinMs >= maxMatchingMs) return result
    }
  }

  #left(): number {
    const nowMs = this.nowMs()
    this.#leftMs = Math.min(maxMatchingMs, this.#leftMs + (nowMs - this.#updatedAtMs) * share)
    this.#updatedAtMs = nowMs
    return this.#leftMs
  }
}

export class MatchingBudgets {
  /** The budget of all groups, which belong to no connection. */
  readonly ofGroups = new MatchingBudget()
  readonly #byPeer = new Map<string, MatchingBudget>()

  /** Returns the budget of a connection. @param peer The connection's address and port. */
  ofPeer(peer: string): MatchingBudget {
    const known = this.#byPeer.get(peer)
    if (known) return known
    if (this.#byPeer.size >= maxBudgets) {
      // Remove full budgets, which are equivalent to new ones.
      for (const [other, budget] of this.#byPeer) if (budget.isFull) this.#byPeer.delete(other)
    }
    const budget = new MatchingBudget()
    this.#byPeer.set(peer, budget)
    return budget
  }
}
