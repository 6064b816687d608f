import { hash, verify } from '@node-rs/argon2'
import { FairQueue } from './fair-queue.js'

/** Slow on purpose, and off the main thread. Those it is done for take turns (`queuedFor`). */
export interface Passwords {
  /** A PHC string (`$argon2id$…`) with a salt of its own. @throws TooManyPasswordsError */
  hash(secret: string, queuedFor: string): Promise<string>
  /** @throws TooManyPasswordsError */
  verify(phc: string, secret: string, queuedFor: string): Promise<boolean>
}

/** More log-ins at once than can be handled in reasonable time. */
export class TooManyPasswordsError extends Error {
  override readonly name = 'TooManyPasswordsError'
}

/** OWASP's recommendation for argon2id: 19 MiB, two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Of the four threads that file access and name look-ups need as well; the third is for who comes beside a flood. */
const maxAtOnce = 3
const maxAtOncePerKey = 2
/** Of each that it is done for, a few seconds' worth; whoever would wait longer is told to come again. */
const longestQueue = 100

export function createPasswords(maxWaiting = longestQueue): Passwords {
  const tooMany = () => new TooManyPasswordsError('too many passwords wait for being checked')
  const queue = new FairQueue({ maxAtOnce, maxAtOncePerKey, maxWaitingPerKey: maxWaiting }, tooMany)
  return {
    hash: (secret, queuedFor) => queue.run(queuedFor, () => hash(secret, cost)),
    verify: (phc, secret, queuedFor) => queue.run(queuedFor, () => verify(phc, secret)),
  }
}
