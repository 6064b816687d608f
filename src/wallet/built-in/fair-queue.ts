type Start = () => void

/**
 * At most `maxAtOnce` pieces of work at once. Keys take turns: however much waits for one key, another's first piece is
 * next but a few.
 */
export class FairQueue {
  private running = 0
  /** Of each key what waits, in order; the key whose turn is next is the first. */
  private readonly waiting = new Map<string, Start[]>()

  constructor(
    private readonly maxAtOnce: number,
    private readonly maxWaitingPerKey: number,
    private readonly tooMany: () => Error,
  ) {}

  /** @throws what `tooMany` makes, and what `work` throws */
  async run<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    if (this.running < this.maxAtOnce) this.running++
    else await this.turn(key)
    try {
      return await work()
    } finally {
      // The place of the one that ends is handed over.
      const next = this.next()
      if (next) next()
      else this.running--
    }
  }

  private turn(key: string): Promise<void> {
    const queue = this.waiting.get(key) ?? []
    if (queue.length >= this.maxWaitingPerKey) throw this.tooMany()
    this.waiting.set(key, queue)
    return new Promise((resolve) => queue.push(resolve))
  }

  private next(): Start | undefined {
    for (const [key, queue] of this.waiting) {
      const start = queue.shift()
      this.waiting.delete(key)
      if (queue.length > 0) this.waiting.set(key, queue)
      return start
    }
    return undefined
  }
}
