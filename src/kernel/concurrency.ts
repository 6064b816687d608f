import PQueue from 'p-queue'

interface BatcherOptions<Item> {
  /** Processes a batch, in the order in which the items were added. Must not reject. */
  readonly process: (items: readonly Item[]) => void | Promise<void>
  /** The largest size of a batch. A full batch is processed without delay. */
  readonly maxItems: number
  /** The longest time that an item waits for others, in milliseconds. 0 gathers the items of one turn of the event loop. */
  readonly delayMs: number
}

/** Processes items that arrive close together as a batch, one batch at a time, so that batches grow with the load. */
export class Batcher<Item> {
  readonly #options: BatcherOptions<Item>
  #items: Item[] = []
  #cancelTimer: (() => void) | undefined
  #running: Promise<void> | undefined

  constructor(options: BatcherOptions<Item>) {
    this.#options = options
  }

  add(item: Item): void {
    this.#items.push(item)
    if (this.#items.length >= this.#options.maxItems) void this.flush()
    else this.#cancelTimer ??= this.#startTimer()
  }

  /** Processes all items without delay. Resolves when none is waiting or being processed. */
  async flush(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#items.length > 0) this.#running ??= this.#drain()
    await this.#running
  }

  async #drain(): Promise<void> {
    const { process, maxItems } = this.#options
    while (this.#items.length > 0) {
      const batch = this.#items.slice(0, maxItems)
      this.#items = this.#items.slice(maxItems)
      await process(batch)
    }
    this.#running = undefined
  }

  #startTimer(): () => void {
    const { delayMs } = this.#options
    if (delayMs === 0) {
      const immediate = setImmediate(() => void this.flush())
      return () => clearImmediate(immediate)
    }
    const timer = setTimeout(() => void this.flush(), delayMs)
    return () => clearTimeout(timer)
  }
}

/** Limits how many tasks of each key run simultaneously and how many wait. Tasks of different keys never wait for one another. */
export class KeyedLimit {
  readonly #queues = new Map<string, PQueue>()

  constructor(
    private readonly limits: { readonly concurrency: number; readonly maxWaiting: number },
    private readonly tooMany: (key: string) => Error,
  ) {}

  /** @throws the error of `tooMany` if the maximum number of the key's tasks is waiting, and every error of `task` */
  async run<Value>(key: string, task: () => Promise<Value>): Promise<Value> {
    return this.#queueWithRoom(key).add(task)
  }

  #queueWithRoom(key: string): PQueue {
    const { concurrency, maxWaiting } = this.limits
    const queue = this.#queues.get(key)
    if (!queue) return this.#open(key)
    if (queue.pending >= concurrency && queue.size >= maxWaiting) throw this.tooMany(key)
    return queue
  }

  #open(key: string): PQueue {
    const queue = new PQueue({ concurrency: this.limits.concurrency })
    this.#queues.set(key, queue)
    queue.once('idle', () => this.#queues.delete(key))
    return queue
  }
}
