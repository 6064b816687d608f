// npm run trace-create: prints the files that a create passes through, in order of their first call, from the request to the delivered
// callback. It excludes the calls of an idle service, which a second service determines.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService } from '../../dist/examples/example-service.js'
import { accepts, startReceiver } from '../../dist/test/callbacks/receiver.js'
import { RawMerchantClient } from '../../dist/test/support/raw-merchant-client.js'

const settleMs = 3_000
const idleForMs = 15_000
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Returns the calls of a service in order: name, time in nanoseconds, and whether the call happened while `act` ran. */
async function calls(act) {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-trace-'))
  process.env.TRACE_FILE = join(directory, 'calls')
  process.env.NODE_OPTIONS = `--import=${new URL('calls.js', import.meta.url).href}`
  // Run the separate files, because the bundle combines them.
  const service = await startService(new URL('../../dist/src/cli/main.js', import.meta.url).pathname)
  try {
    let onCallback
    const callback = new Promise((resolve) => {
      onCallback = resolve
    })
    const receiver = await startReceiver({ teardown: () => undefined }, (received, response) => {
      accepts(received, response)
      onCallback()
    })
    const { merchantId } = service.sandbox
    await service.cli('merchants', 'set', merchantId, '--callback-url', receiver.url, '--callback-on-create')
    await pause(settleMs)
    const begin = Date.now()
    await act(new RawMerchantClient(service.baseUrl, service.sandbox), callback)
    const end = Date.now()
    await receiver.close()
    return readFileSync(process.env.TRACE_FILE, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' '))
      .map(([ms, at, name]) => ({ name, at: BigInt(at), during: begin <= ms && ms <= end }))
      .sort((a, b) => (a.at < b.at ? -1 : 1))
  } finally {
    await service.stop()
    rmSync(directory, { recursive: true })
  }
}

const names = (called) => new Set(called.map(({ name }) => name))
const idle = await calls(() => pause(idleForMs))
const idleSinceStart = names(idle)
const idleCalls = names(idle.filter(({ during }) => during))
const served = await calls(async (merchant, callback) => {
  const { status } = await merchant.nativeDeposit('trace-1', '100.00')
  if (status !== 200) throw new Error(`the create returned status ${status}`)
  await callback
  // Wait until the delivery is recorded.
  await pause(500)
})
const crossed = served.filter(({ name, during }) => during && !idleCalls.has(name))
const fileOf = ({ name }) => name.slice(0, name.lastIndexOf(':'))
const files = new Map()
for (const call of crossed) if (!files.has(fileOf(call))) files.set(fileOf(call), Number(call.at - crossed[0].at) / 1e6)
for (const [file, ms] of files) console.log(`${ms.toFixed(1).padStart(8)} ms  ${file}`)
const activeOnly = new Set(crossed.filter(({ name }) => !idleSinceStart.has(name)).map(fileOf))
console.log(`${files.size} files; ${activeOnly.size} of them contain functions that an idle service never calls`)
