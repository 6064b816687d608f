// npm run trace-create: the files that one create crosses, in the order in which a function of theirs is first called, from the request to
// the delivered callback. A service of its own serves it; what another one does that serves nothing in the meantime does not count.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService } from '../../dist/examples/example-service.js'
import { startReceiver } from '../../dist/examples/merchant/callback-receiver.js'
import { MerchantClient } from '../../dist/examples/merchant/merchant-api-client.js'

const settlesWithinMs = 3_000
const idleForMs = 15_000
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** What is called: name, nanoseconds, and whether it was while `act` ran; in order. */
async function calls(act) {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-trace-'))
  process.env.TRACE_FILE = join(directory, 'calls')
  process.env.NODE_OPTIONS = `--import=${new URL('calls.js', import.meta.url).href}`
  // File by file: in the bundle they are one.
  const service = await startService(new URL('../../dist/src/cli/main.js', import.meta.url).pathname)
  try {
    let tell
    const callback = new Promise((resolve) => {
      tell = resolve
    })
    const receiver = await startReceiver(tell)
    receiver.trust(service.sandbox)
    const { merchantId } = service.sandbox
    await service.cli('merchants', 'set', merchantId, '--callback-url', receiver.url, '--callback-on-create')
    await pause(settlesWithinMs)
    const begin = Date.now()
    await act(new MerchantClient(service.baseUrl, service.sandbox), callback)
    const end = Date.now()
    receiver.close()
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
const idleMeanwhile = names(idle.filter(({ during }) => during))
const served = await calls(async (merchant, callback) => {
  const { status } = await merchant.nativeDeposit('trace-1', '100.00')
  if (status !== 200) throw new Error(`the create was answered with ${status}`)
  await callback
  // Delivered, and recorded as such.
  await pause(500)
})
const crossed = served.filter(({ name, during }) => during && !idleMeanwhile.has(name))
const fileOf = ({ name }) => name.slice(0, name.lastIndexOf(':'))
const files = new Map()
for (const call of crossed) if (!files.has(fileOf(call))) files.set(fileOf(call), Number(call.at - crossed[0].at) / 1e6)
for (const [file, ms] of files) console.log(`${ms.toFixed(1).padStart(8)} ms  ${file}`)
const onlyThen = new Set(crossed.filter(({ name }) => !idleSinceStart.has(name)).map(fileOf))
console.log(
  `${files.size} files; in ${onlyThen.size} of them it calls what a service that was only started has never called`,
)
