import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'

/** Password hashing, which is slow on purpose and runs off the main thread. The parties of `queuedFor` take turns. */
export interface Passwords {
  /** Returns a PHC string (`$argon2id$…`) with its own salt. @throws TooManyPasswordsError */
  hash(secret: string, queuedFor: string): Promise<string>
  /** Returns `false` without a PHC string, after as much work as with one, so that the time reveals no account. @throws TooManyPasswordsError */
  verify(phc: string | undefined, secret: string, queuedFor: string): Promise<boolean>
}

/** Too many logins arrived at the same time to be handled in reasonable time. */
export class TooManyPasswordsError extends Error {
  override readonly name = 'TooManyPasswordsError'
}

/** The recommendation of OWASP for argon2id: 19 MiB and two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** File access and name lookups need the same four threads. */
const concurrency = 3
/** Leaves one thread for other parties while one party floods the queue. */
const concurrencyPerKey = 2
/** A few seconds of work for each party. Further requests are rejected. */
const defaultMaxWaiting = 100

export function createPasswords(maxWaitingPerKey = defaultMaxWaiting): Passwords {
  const tooMany = () => new TooManyPasswordsError('too many passwords are waiting to be verified')
  const queue = new FairQueue({ concurrency, concurrencyPerKey, maxWaitingPerKey }, tooMany)
  let decoy: Promise<string> | undefined
  const verifyDecoy = async (secret: string) => {
    decoy ??= hash(randomBytes(32).toString('base64url'), cost)
    await verify(await decoy, secret)
    return false
  }
  return {
    hash: (secret, queuedFor) => queue.run(queuedFor, () => hash(secret, cost)),
    verify: (phc, secret, queuedFor) =>
      queue.run(queuedFor, () => (phc === undefined ? verifyDecoy(secret) : verify(phc, secret))),
  }
}

export interface FairQueueLimits {
  readonly concurrency: number
  /** Less than `concurrency`, so that one key never occupies every slot. */
  readonly concurrencyPerKey: number
  readonly maxWaitingPerKey: number
}

/** Limits concurrent work. The keys take turns, so a long queue of one key hardly delays the first task of another. */
export class FairQueue {
  #running = 0
  readonly #runningOf = new Map<string, number>()
  /** The waiting tasks of each key, in order. The first key is the next to start a task. */
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(
    private readonly limits: FairQueueLimits,
    private readonly tooMany: () => Error,
  ) {}

  /** @throws the error of `tooMany` if the key's queue is full, and every error of `task` */
  async run<Value>(key: string, task: () => Promise<Value>): Promise<Value> {
    if (this.#hasSlot(key)) this.#take(key)
    else await this.#turn(key)
    try {
      return await task()
    } finally {
      this.#leave(key)
      this.#startNext()
    }
  }

  #hasSlot(key: string): boolean {
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
    const queue = this.#waiting.get(key) ?? []
    if (queue.length >= this.limits.maxWaitingPerKey) throw this.tooMany()
    this.#waiting.set(key, queue)
    return new Promise((resolve) => queue.push(resolve))
  }

  #startNext(): void {
    for (const [key, queue] of this.#waiting) {
      if (!this.#hasSlot(key)) continue
      const start = queue.shift()
      this.#waiting.delete(key)
      if (queue.length > 0) this.#waiting.set(key, queue)
      // Take the slot now, because another caller could take it before the task starts.
      this.#take(key)
      start?.()
      return
    }
  }
}
