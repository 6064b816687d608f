/**
 * The same figures on logs of different sizes: starting, creating, listing, delivering, memory and disk. BENCH_SIZES: numbers of transfers,
 * six events each, separated by commas; BENCH_SECONDS, BENCH_CALLBACKS.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deliverWaiting } from './support/backlog-delivery.js'
import { type AtEnd, part } from './support/bench-part.js'
import { type Receiver, startReceiver } from './support/bench-receiver.js'
import { row, title } from './support/bench-report.js'
import { type BenchMerchant, catchUpSeconds, Installation, type RunningService } from './support/bench-service.js'
import { cpuMs, residentMegabytes, settled } from './support/cpu-usage.js'
import { prepareCreates } from './support/create-load.js'
import { measuredLoad } from './support/measured-load.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const sizes = (process.env.BENCH_SIZES ?? '10000,100000').split(',').map(Number)
const durationMs = Number(process.env.BENCH_SECONDS ?? 8) * 1_000
const callbacks = Number(process.env.BENCH_CALLBACKS ?? 20_000)
const connections = 64
const eventsPerTransfer = 6
const maxPerSecond = 60_000
const grow = fileURLToPath(new URL('grow-log.js', import.meta.url))

type Tell = (figure: string, value: number) => void

function megabytesIn(directory: string): number {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return files.reduce((sum, file) => sum + statSync(join(directory, file)).size, 0) / 1024 / 1024
}

async function buildReadModels(installation: Installation, events: number, tell: Tell): Promise<void> {
  const service = await installation.start()
  const seconds = await catchUpSeconds(service.port)
  await settled([service.pid])
  tell('events projected per second, from nothing', events / (service.readyAfterMs / 1_000 + seconds))
  tell('us of CPU per event projected, from nothing', (cpuMs(service.pid) * 1_000) / events)
  await service.stop()
}

async function measureStart(service: RunningService, tell: Tell): Promise<void> {
  tell('ready after, ms', service.readyAfterMs)
  await settled([service.pid])
  tell('ms of CPU until at rest', cpuMs(service.pid))
  tell('resident at rest, MiB', residentMegabytes(service.pid))
}

async function measureRequests(service: RunningService, merchant: BenchMerchant, tell: Tell): Promise<void> {
  const { port, pid } = service
  const path = '/api/services/app/TransactionRequests/CreateDeposit'
  const count = Math.ceil((maxPerSecond * durationMs) / 1_000)
  const creates = prepareCreates({ ...merchant, path, connections, count })
  const caughtUp = async () => void (await catchUpSeconds(port))
  const load = { port, connections, durationMs }
  const created = await measuredLoad({ service: pid }, { ...load, nextRequest: creates }, caughtUp)
  const head = `Host: 127.0.0.1\r\nWebApiKey: ${merchant.webApiKey}\r\n\r\n`
  const list = Buffer.from(`GET /v1/transfers?limit=20 HTTP/1.1\r\n${head}`)
  const listed = await measuredLoad({ service: pid }, { ...load, nextRequest: () => list })
  for (const [what, result] of [
    ['creates', created],
    ['lists of 20 transfers', listed],
  ] as const) {
    tell(`${what} per second`, result.requestsPerSecond)
    tell(`${what}, p99 ms`, result.p99Ms)
    tell(`${what}, us of CPU each`, result.cpuUs.service ?? Number.NaN)
  }
  tell('resident after it, MiB', residentMegabytes(pid))
}

async function measureSize(transfers: number, receiver: Receiver, atEnd: AtEnd): Promise<void> {
  const tell: Tell = (figure, value) => row(`${transfers.toLocaleString('en')} transfers`, figure, [value])
  const directory = temporaryDirectory(atEnd)
  const events = transfers * eventsPerTransfer
  execFileSync(process.execPath, [grow, directory, String(events)])
  const [merchant]: BenchMerchant[] = JSON.parse(readFileSync(join(directory, 'merchants.json'), 'utf8'))
  if (merchant === undefined) throw new Error('a log without merchants')
  const installation = new Installation(directory)
  tell('log, MiB', megabytesIn(directory))
  await buildReadModels(installation, events, tell)
  tell('log and read models, MiB', megabytesIn(directory))
  const startedAtMs = performance.now()
  await installation.command('merchants', 'show', merchant.id)
  tell('`merchants show`, ms', performance.now() - startedAtMs)
  const service = await installation.start()
  try {
    await measureStart(service, tell)
    await measureRequests(service, merchant, tell)
  } finally {
    await service.stop()
  }
  const told = await installation.createMerchant(`http://127.0.0.1:${receiver.port}/`, '--callback-on-create')
  const { perSecond, cpuUs } = await deliverWaiting(installation, told, receiver, callbacks)
  tell('callbacks delivered per second', perSecond)
  tell('us of CPU per callback delivered', cpuUs.service ?? Number.NaN)
}

await part(async (atEnd) => {
  title('what grows with the log')
  const receiver = await startReceiver()
  atEnd(receiver.stop)
  for (const transfers of sizes) await measureSize(transfers, receiver, atEnd)
})
