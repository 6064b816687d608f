import { hash, verify } from '@node-rs/argon2'
import { type Passwords, TooManyPasswordsError } from '../../commands/wallet/accounts.js'
import { FairQueue } from './fair-queue.js'

/** OWASP's recommendation for argon2id: 19 MiB, two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Of the four threads that file access and name look-ups need as well; the third is for who comes beside a flood. */
const maxAtOnce = 3
const maxAtOncePerKey = 2
/** Of each merchant, a few seconds' worth; whoever would wait longer is told to come again. */
const longestQueue = 100

export function createPasswords(maxWaiting = longestQueue): Passwords {
  const tooMany = () => new TooManyPasswordsError('too many passwords wait for being checked')
  const queue = new FairQueue({ maxAtOnce, maxAtOncePerKey, maxWaitingPerKey: maxWaiting }, tooMany)
  return {
    hash: (secret, queuedFor) => queue.run(queuedFor, () => hash(secret, cost)),
    verify: (phc, secret, queuedFor) => queue.run(queuedFor, () => verify(phc, secret)),
  }
}
