import { violate } from '../../kernel/rules.js'
import { RequestError } from '../refusals.js'

/** Limits the concurrent operations per user in this process. */
export class AtOnce {
  readonly #open = new Map<string, number>()

  constructor(private readonly most: number) {}

  /** Starts an operation and returns a function that ends it. @throws RequestError */
  begin(userId: string): () => void {
    const count = this.#open.get(userId) ?? 0
    if (count >= this.most) {
      throw new RequestError('too-many-requests', {
        violation: violate('too-many-open', { most: this.most }),
        retryAfterSeconds: 5,
      })
    }
    this.#open.set(userId, count + 1)
    let ended = false
    return () => {
      if (ended) return
      ended = true
      const left = (this.#open.get(userId) ?? 1) - 1
      if (left === 0) this.#open.delete(userId)
      else this.#open.set(userId, left)
    }
  }
}
