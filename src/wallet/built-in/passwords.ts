import { hash, verify } from '@node-rs/argon2'
import { type Passwords, TooManyPasswordsError } from '../../commands/wallet-accounts.js'

/** OWASP's recommendation for argon2id: 19 MiB, two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Of the four threads that file access and name look-ups need as well. */
const maxAtOnce = 2
/** Ten seconds' worth, about; whoever waits longer is told to come again. */
const longestQueue = 500

export function createPasswords(maxWaiting = longestQueue): Passwords {
  let running = 0
  const waiting: (() => void)[] = []
  const inTurn = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (running < maxAtOnce) running++
    else {
      if (waiting.length >= maxWaiting) throw new TooManyPasswordsError('too many passwords wait for being checked')
      // The place of the one that ends is handed over.
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
  return {
    hash: (secret) => inTurn(() => hash(secret, cost)),
    verify: (phc, secret) => inTurn(() => verify(phc, secret)),
  }
}
