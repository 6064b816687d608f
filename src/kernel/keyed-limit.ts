import PQueue from 'p-queue'

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
