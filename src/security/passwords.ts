import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { FairQueue } from '../kernel/fair-queue.js'

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
  const limits = { concurrency, concurrencyPerKey, maxWaitingPerKey, maxWaiting: Number.POSITIVE_INFINITY }
  const queue = new FairQueue(limits, tooMany)
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
