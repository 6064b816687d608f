/**
 * Measures logs of different sizes: disk space, rebuild, verification, searches, start, creates, lists, deliveries and memory. BENCH_SIZES lists the numbers of
 * transfers, six events each, separated by commas. BENCH_SECONDS and BENCH_CALLBACKS set the size of the rounds.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { searchTransfers } from '../src/queries/transfer-search.js'
import { openEmbeddedReadModels } from '../src/read-models/embedded/embedded-read-models.js'
import { deliverBacklog } from './support/backlog-delivery.js'
import { type Cleanup, runPart } from './support/bench-part.js'
import { type Receiver, startReceiver } from './support/bench-receiver.js'
import { row, title } from './support/bench-report.js'
import { type BenchMerchant, catchUpSeconds, Installation, type RunningService } from './support/bench-service.js'
import { cpuMs, residentMegabytes, waitUntilIdle } from './support/cpu-usage.js'
import { prepareCreates } from './support/create-load.js'
import { measureLoad } from './support/measured-load.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const sizes = (process.env.BENCH_SIZES ?? '10000,100000').split(',').map(Number)
const durationMs = Number(process.env.BENCH_SECONDS ?? 8) * 1_000
const callbacks = Number(process.env.BENCH_CALLBACKS ?? 20_000)
const connections = 64
const eventsPerTransfer = 6
/** A merchant may read 2,000 rows per second. */
const listsPerSecond = 80
const searches = 200
const parts = { log: /^events\.db/, 'read models': /^read-models\.db/, tree: /^audit/ }
const maxPerSecond = 60_000
const growLog = fileURLToPath(new URL('grow-log.js', import.meta.url))

type Report = (figure: string, value: number) => void

function megabytesIn(directory: string, pattern: RegExp): number {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((file) => pattern.test(file))
  return files.reduce((sum, file) => sum + statSync(join(directory, file)).size, 0) / 1024 / 1024
}

async function buildReadModels(installation: Installation, events: number, report: Report): Promise<void> {
  const service = await installation.start()
  const seconds = await catchUpSeconds(service.port)
  await waitUntilIdle([service.pid])
  report('events projected per second, initial build', events / (service.readyAfterMs / 1_000 + seconds))
  report('us of CPU per projected event, initial build', (cpuMs(service.pid) * 1_000) / events)
  await service.stop()
}

async function measureStart(service: RunningService, report: Report): Promise<void> {
  report('time until ready, ms', service.readyAfterMs)
  await waitUntilIdle([service.pid])
  report('CPU time until idle, ms', cpuMs(service.pid))
  report('resident memory when idle, MiB', residentMegabytes(service.pid))
}

async function measureRequests(service: RunningService, merchant: BenchMerchant, report: Report): Promise<void> {
  const { port, pid } = service
  const path = '/api/services/app/TransactionRequests/CreateDeposit'
  const count = Math.ceil((maxPerSecond * durationMs) / 1_000)
  const creates = prepareCreates({ ...merchant, path, connections, count })
  const waitForProjections = async () => void (await catchUpSeconds(port))
  const created = await measureLoad(
    { service: pid },
    { port, connections, durationMs, nextRequest: creates },
    waitForProjections,
  )
  const head = `Host: 127.0.0.1\r\nWebApiKey: ${merchant.webApiKey}\r\n\r\n`
  const list = Buffer.from(`GET /v1/transfers?limit=20 HTTP/1.1\r\n${head}`)
  const lists = { port, connections: 4, durationMs, perSecond: listsPerSecond, nextRequest: () => list }
  const listed = await measureLoad({ service: pid }, lists)
  report('creates per second', created.requestsPerSecond)
  for (const [requests, result] of [
    ['creates', created],
    ['lists of 20 transfers', listed],
  ] as const) {
    report(`${requests}, p99 ms`, result.p99Ms)
    report(`${requests}, us of CPU each`, result.cpuUs.service ?? Number.NaN)
  }
  report('resident memory afterwards, MiB', residentMegabytes(pid))
}

/** Searches all merchants for a reference, and for a name that all transfers have. */
async function measureSearches(directory: string, transfers: number, report: Report): Promise<void> {
  const readModels = await openEmbeddedReadModels({ directory })
  try {
    const everything = { merchantIds: undefined, kind: undefined, status: undefined, from: undefined, to: undefined }
    const rest = { attention: undefined, method: undefined, minAmountMinor: undefined, maxAmountMinor: undefined }
    const page = { sort: undefined, limit: 20, cursor: undefined }
    const reference = (n: number) => `grown-${Math.floor((n * transfers) / searches)}`
    for (const [name, text] of [
      ['a reference', reference],
      ['the beginnings of two common words', () => 'custom nam'],
    ] as const) {
      const tookMs: number[] = []
      for (let n = 0; n < searches; n++) {
        const startedAtMs = performance.now()
        const { items } = await searchTransfers(readModels, { ...everything, ...rest, ...page, text: text(n) })
        tookMs.push(performance.now() - startedAtMs)
        if (items.length === 0) throw new Error(`nothing was found by ${text(n)}`)
      }
      tookMs.sort((a, b) => a - b)
      report(`search for ${name}, median ms`, tookMs[searches / 2]!)
      report(`search for ${name}, p99 ms`, tookMs[Math.floor(searches * 0.99)]!)
    }
  } finally {
    await readModels.close()
  }
}

/** Runs a command that reads the whole log. */
async function measureCommand(installation: Installation, events: number, report: Report, ...args: string[]) {
  const usedMs = cpuMs(process.pid)
  const startedAtMs = performance.now()
  await installation.command(...args)
  const seconds = (performance.now() - startedAtMs) / 1_000
  const command = args.slice(0, 2).join(' ')
  report(`${command}, us of CPU per event`, ((cpuMs(process.pid) - usedMs) * 1_000) / events)
  report(`${command}, events per second`, events / seconds)
}

function measureFiles(directory: string, transfers: number, report: Report): void {
  for (const [part, files] of Object.entries(parts)) {
    report(`${part}, bytes per transfer`, (megabytesIn(directory, files) * 1024 * 1024) / transfers)
  }
}

async function measureSize(transfers: number, receiver: Receiver, cleanup: Cleanup): Promise<void> {
  const report: Report = (figure, value) => row(`${transfers.toLocaleString('en')} transfers`, figure, [value])
  const directory = temporaryDirectory(cleanup)
  const events = transfers * eventsPerTransfer
  execFileSync(process.execPath, [growLog, directory, String(events)])
  const [merchant]: BenchMerchant[] = JSON.parse(readFileSync(join(directory, 'merchants.json'), 'utf8'))
  if (merchant === undefined) throw new Error('the log has no merchants')
  const installation = new Installation(directory)
  await installation.command('audit', 'restart-tree', '--reason', 'a log without a tree', '--yes')
  await buildReadModels(installation, events, report)
  measureFiles(directory, transfers, report)
  await measureCommand(installation, events, report, 'projections', 'rebuild', '--all')
  await measureCommand(installation, events, report, 'audit', 'verify')
  await measureSearches(directory, transfers, report)
  const startedAtMs = performance.now()
  await installation.command('merchants', 'show', merchant.id)
  report('merchants show, ms', performance.now() - startedAtMs)
  const service = await installation.start()
  try {
    await measureStart(service, report)
    await measureRequests(service, merchant, report)
    const notified = await installation.createMerchant(`http://127.0.0.1:${receiver.port}/`, '--callback-on-create')
    const { perSecond, cpuUs } = await deliverBacklog(installation, service, notified, receiver, callbacks)
    report('callbacks delivered per second', perSecond)
    report('us of CPU per callback delivered', cpuUs.service ?? Number.NaN)
  } finally {
    await service.stop()
  }
}

await runPart(async (cleanup) => {
  title('growth with the size of the log')
  const receiver = await startReceiver()
  cleanup(receiver.stop)
  for (const transfers of sizes) await measureSize(transfers, receiver, cleanup)
})
