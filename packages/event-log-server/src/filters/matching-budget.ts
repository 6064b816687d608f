import { setTimeout as sleep } from 'node:timers/promises'

/** What matching may take at once, and the part of the time that follows in which it comes back. */
export const maxMatchingMs = 250
const share = 0.1
/** With less than this there is no use in beginning. */
const leastMs = 25
const maxBudgets = 1_000

/** Time for the regular expressions of one connection, however many filters it has: together they cannot hold the server up. */
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
   * Does the work within what is left, waiting for that where it is little. `work` is told how long it may take, and answers
   * undefined when it was broken off. Undefined: it was, with all the time there is for one piece of work.
   */
  async spend<Result>(work: (withinMs: number) => Result | undefined): Promise<Result | undefined> {
    for (let neededMs = leastMs; ; neededMs = maxMatchingMs) {
      // Others who waited may have been quicker.
      while (this.#left() < neededMs) await this.wait(Math.ceil((neededMs - this.#leftMs) / share))
      const withinMs = this.#leftMs
      const startedAtMs = this.nowMs()
      const result = work(Math.ceil(withinMs))
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
  /** Of the groups, which belong to no connection: one for all. */
  readonly ofGroups = new MatchingBudget()
  readonly #byPeer = new Map<string, MatchingBudget>()

  /** Of a connection, by its address and port. */
  of(peer: string): MatchingBudget {
    const known = this.#byPeer.get(peer)
    if (known) return known
    if (this.#byPeer.size >= maxBudgets) {
      // One that is full is as good as a new one.
      for (const [of, budget] of this.#byPeer) if (budget.isFull) this.#byPeer.delete(of)
    }
    const budget = new MatchingBudget()
    this.#byPeer.set(peer, budget)
    return budget
  }
}
