import { Resolver } from 'node:dns/promises'
import type { ResolveHost } from './address-guard.js'

const timeoutMs = 2_000
const tries = 2

/**
 * Creates a resolver that queries the name servers directly. `dns.lookup` uses libuv's four threads, so four slow names would delay every
 * merchant's callbacks and all file access. The hosts file is not read, because its names are private. Concurrent attempts share a query.
 */
export function createHostResolver(): ResolveHost {
  const resolver = new Resolver({ timeout: timeoutMs, tries })
  const pending = new Map<string, Promise<readonly string[]>>()
  return (hostname) => {
    let addresses = pending.get(hostname)
    if (!addresses) {
      addresses = addressesOf(resolver, hostname).finally(() => pending.delete(hostname))
      pending.set(hostname, addresses)
    }
    return addresses
  }
}

async function addressesOf(resolver: Resolver, hostname: string): Promise<readonly string[]> {
  const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (addresses.length > 0) return addresses
  throw (results[0] as PromiseRejectedResult).reason
}
