interface FairQueueLimits {
  readonly concurrency: number
  /** Less than `concurrency`, so that one key never occupies every place. */
  readonly concurrencyPerKey: number
  readonly maxWaitingPerKey: number
  /** The most waiting tasks of all keys together. */
  readonly maxWaiting: number
}

/** Limits concurrent work. The keys take turns, so a long queue of one key hardly delays the first task of another. */
export class FairQueue {
  #running = 0
  readonly #runningOf = new Map<string, number>()
  #waitingCount = 0
  /** The waiting tasks of each key, in order. The first key is the next to start a task. */
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(
    private readonly limits: FairQueueLimits,
    /** Receives whether the limit of the key is reached, or only that of all. */
    private readonly tooMany: (limit: 'key' | 'all') => Error,
  ) {}

  /** @throws the error of `tooMany` if the key's queue or the whole queue is full, and every error of `task` */
  async run<Value>(key: string, task: () => Promise<Value>): Promise<Value> {
    const leave = await this.enter(key)
    try {
      return await task()
    } finally {
      leave()
    }
  }

  /** Waits for a place of the key. Returns a function that leaves it; further calls have no effect. @throws the error of `tooMany` */
  async enter(key: string): Promise<() => void> {
    if (this.#hasPlace(key)) this.#take(key)
    else await this.#turn(key)
    let isLeft = false
    return () => {
      if (isLeft) return
      isLeft = true
      this.#leave(key)
      this.#startNext()
    }
  }

  #hasPlace(key: string): boolean {
    const { concurrency, concurrencyPerKey } = this.limits
    return this.#running < concurrency && (this.#runningOf.get(key) ?? 0) < concurrencyPerKey
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
    const { concurrencyPerKey, maxWaiting, maxWaitingPerKey } = this.limits
    const queue = this.#waiting.get(key) ?? []
    const isKeyFull = (this.#runningOf.get(key) ?? 0) >= concurrencyPerKey && queue.length >= maxWaitingPerKey
    if (isKeyFull || queue.length >= maxWaitingPerKey || this.#waitingCount >= maxWaiting)
      throw this.tooMany(isKeyFull ? 'key' : 'all')
    this.#waiting.set(key, queue)
    this.#waitingCount++
    return new Promise((resolve) => queue.push(resolve))
  }

  #startNext(): void {
    for (const [key, queue] of this.#waiting) {
      if (!this.#hasPlace(key)) continue
      const start = queue.shift()
      this.#waitingCount--
      this.#waiting.delete(key)
      if (queue.length > 0) this.#waiting.set(key, queue)
      // Occupy the place before the task starts, so that no other caller can.
      this.#take(key)
      start?.()
      return
    }
  }
}
