/**
 * The readers that do their worst within their limits, in a separate process (bench/fairness.bench.ts). Each connection sends its next
 * request when the previous response is complete, or after Retry-After.
 */
import { request } from 'node:http'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Aggressor {
  readonly baseUrl: string
  readonly connections: number
  readonly paths: readonly string[]
  readonly headers: { readonly [name: string]: string }
}

/** The number of responses by status, since the start. */
export type FromAggressors = { readonly statuses: { readonly [status: string]: number } }

const statuses: Record<string, number> = {}

function get(url: string, headers: Aggressor['headers']): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      const { statusCode = 0 } = response
      statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
      response.resume().once('end', () => resolve(Number(response.headers['retry-after'] ?? 0)))
      response.once('error', reject)
    })
    sent.once('error', reject).end()
  })
}

async function attack({ baseUrl, paths, headers }: Aggressor, connection: number): Promise<never> {
  for (let n = connection; ; n++) {
    const waitSeconds = await get(`${baseUrl}${paths[n % paths.length]!}`, headers)
    await sleep(waitSeconds * 1_000)
  }
}

// In practice, the readers run on other machines.
setPriority(0, 19)
process.on('message', (aggressors: readonly Aggressor[] | 'busy loop') => {
  // The control: shows how much of a delay comes from sharing two cores and not from the service.
  if (aggressors === 'busy loop')
    setInterval(() => {
      for (const until = performance.now() + 50; performance.now() < until; );
    }, 0)
  else
    for (const aggressor of aggressors)
      for (let n = 0; n < aggressor.connections; n++)
        attack(aggressor, n).catch((error) => process.emit('warning', error))
})
setInterval(() => process.send?.({ statuses } satisfies FromAggressors), 250)
process.on('disconnect', () => process.exit())
