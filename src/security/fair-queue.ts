type Start = () => void

export interface FairQueueLimits {
  readonly maxAtOnce: number
  /** Fewer, so that one key alone never has every place: another's work begins at once. */
  readonly maxAtOncePerKey: number
  readonly maxWaitingPerKey: number
}

/** Bounded work at once. Keys take turns: however much waits for one of them, another's first piece is next but a few. */
export class FairQueue {
  #running = 0
  readonly #runningOf = new Map<string, number>()
  /** Of each key what waits, in order; the key whose turn is next is the first. */
  readonly #waiting = new Map<string, Start[]>()

  constructor(
    private readonly limits: FairQueueLimits,
    private readonly tooMany: () => Error,
  ) {}

  /** @throws what `tooMany` makes, and what `task` throws */
  async run<Value>(key: string, task: () => Promise<Value>): Promise<Value> {
    if (this.#hasPlace(key)) this.#take(key)
    else await this.#turn(key)
    try {
      return await task()
    } finally {
      this.#leave(key)
      this.#startNext()
    }
  }

  #hasPlace(key: string): boolean {
    const { maxAtOnce, maxAtOncePerKey } = this.limits
    return this.#running < maxAtOnce && (this.#runningOf.get(key) ?? 0) < maxAtOncePerKey
  }

  #take(key: string): void {
    this.#running++
    this.#runningOf.set(key, (this.#runningOf.get(key) ?? 0) + 1)
  }

  #leave(key: string): void {
    this.#running--
    const rest = (this.#runningOf.get(key) ?? 0) - 1
    if (rest === 0) this.#runningOf.delete(key)
    else this.#runningOf.set(key, rest)
  }

  #turn(key: string): Promise<void> {
    const queue = this.#waiting.get(key) ?? []
    if (queue.length >= this.limits.maxWaitingPerKey) throw this.tooMany()
    this.#waiting.set(key, queue)
    return new Promise((resolve) => queue.push(resolve))
  }

  #startNext(): void {
    for (const [key, queue] of this.#waiting) {
      if (!this.#hasPlace(key)) continue
      const start = queue.shift()
      this.#waiting.delete(key)
      if (queue.length > 0) this.#waiting.set(key, queue)
      // Its place is taken here, before anybody else can.
      this.#take(key)
      start?.()
      return
    }
  }
}
