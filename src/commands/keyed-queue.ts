import { TooMuchContentionError } from './handle-command.js'

/** Work on one key goes one after the other, on different keys at once. */
export class KeyedQueue {
  private readonly lanes = new Map<string, { last: Promise<unknown>; waiting: number }>()

  constructor(private readonly maxWaitingPerKey: number) {}

  /** @throws TooMuchContentionError when too much waits already, and what `work` throws */
  async run<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    const lane = this.lanes.get(key) ?? { last: Promise.resolve(), waiting: 0 }
    if (lane.waiting >= this.maxWaitingPerKey) throw new TooMuchContentionError(`too much waits for ${key}`)
    this.lanes.set(key, lane)
    lane.waiting++
    const done = lane.last.then(work)
    // What one caller's work throws is that caller's; the next one goes on.
    lane.last = done.catch(() => undefined)
    try {
      return await done
    } finally {
      lane.waiting--
      if (lane.waiting === 0) this.lanes.delete(key)
    }
  }
}
