import { Resolver } from 'node:dns/promises'
import type { ResolveHost } from './address-guard.js'

const timeoutMs = 2_000
const tries = 2

/**
 * Asks the name servers directly. `dns.lookup` would use libuv's four threads, so that four names that are slow to resolve
 * hold up every other merchant's callbacks (and file access besides). The hosts file is not read: what it names is private.
 * Attempts that begin together share one question.
 */
export function createHostResolver(): ResolveHost {
  const resolver = new Resolver({ timeout: timeoutMs, tries })
  const underWay = new Map<string, Promise<readonly string[]>>()
  return (hostname) => {
    let answer = underWay.get(hostname)
    if (!answer) {
      answer = addressesOf(resolver, hostname).finally(() => underWay.delete(hostname))
      underWay.set(hostname, answer)
    }
    return answer
  }
}

async function addressesOf(resolver: Resolver, hostname: string): Promise<readonly string[]> {
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length > 0) return addresses
  throw (answers[0] as PromiseRejectedResult).reason
}
