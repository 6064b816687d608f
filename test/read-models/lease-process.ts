import { setTimeout as sleep } from 'node:timers/promises'
import { runWithLease } from '../../src/read-models/leases.js'
import { openTestReadModels } from '../support/read-models.js'

/** Holds a lease until SIGTERM and prints when it gains or loses the lease. */
const readModels = await openTestReadModels(process.argv[2]!)
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
process.stdout.write('waiting\n')
await runWithLease(readModels, 'worker', { signal: stop.signal }, async ({ token, signal }) => {
  process.stdout.write(`held ${token}\n`)
  while (!signal.aborted) await sleep(10)
  process.stdout.write(`ended ${token}\n`)
})
await readModels.close()
