import { TooMuchContentionError } from './retry-on-conflict.js'

/** Tasks of one key run one after the other, those of different keys at once. */
export class KeyedQueue {
  readonly #lanes = new Map<string, { last: Promise<unknown>; waiting: number }>()

  constructor(private readonly maxWaitingPerKey: number) {}

  /** @throws TooMuchContentionError when too much waits already, and what `task` throws */
  async run<Value>(key: string, task: () => Promise<Value>): Promise<Value> {
    const lane = this.#lanes.get(key) ?? { last: Promise.resolve(), waiting: 0 }
    if (lane.waiting >= this.maxWaitingPerKey) throw new TooMuchContentionError(`too much waits for ${key}`)
    this.#lanes.set(key, lane)
    lane.waiting++
    const done = lane.last.then(task)
    // What one caller's task throws is that caller's; the next one goes on.
    lane.last = done.catch(() => undefined)
    try {
      return await done
    } finally {
      lane.waiting--
      if (lane.waiting === 0) this.#lanes.delete(key)
    }
  }
}
