/**
 * Measures logs of different sizes: rebuild, verification, start, creates, lists, searches, deliveries, memory and disk space. BENCH_SIZES lists the
 * numbers of transfers, about six events each, separated by commas. BENCH_SECONDS and BENCH_CALLBACKS set the size of the rounds.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deliverBacklog } from './support/backlog-delivery.js'
import { type Cleanup, runPart } from './support/bench-part.js'
import { type Receiver, startReceiver } from './support/bench-receiver.js'
import { note, row, title } from './support/bench-report.js'
import {
  type BenchMerchant,
  catchUpSeconds,
  Installation,
  metricsOf,
  type RunningService,
  waitUntil,
} from './support/bench-service.js'
import { cpuMs, residentMegabytes, waitUntilIdle } from './support/cpu-usage.js'
import { prepareCreates } from './support/create-load.js'
import { measureLoad } from './support/measured-load.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const sizes = new Set((process.env.BENCH_SIZES ?? '10000,100000').split(',').map(Number))
const durationMs = Number(process.env.BENCH_SECONDS ?? 8) * 1_000
const callbacks = Number(process.env.BENCH_CALLBACKS ?? 20_000)
const connections = 64
const eventsPerTransfer = 6
/** Each check counts the lag of every projection, which would add to the measured time. */
const treeCheckMs = 1_000
/** A merchant may read 2,000 rows per second. */
const listsPerSecond = 80
/** A user may read 10,000 rows per second, and a search looks at some hundreds. */
const searchesPerSecond = 25
const files = {
  log: /^events\.db/,
  'read models': /^read-models\.db/,
  tree: /^audit\//,
  'other files': /^(?!events\.db|read-models\.db|audit\/)/,
}
const maxPerSecond = 60_000
const growLog = fileURLToPath(new URL('grow-log.js', import.meta.url))

type Report = (figure: string, value: number) => void
type Start = () => Promise<RunningService>

/** Returns the bytes of each kind of file in the directory. */
function sizesIn(directory: string): ReadonlyMap<string, number> {
  const all = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(directory, join(parentPath, name)))
  return new Map(
    Object.entries(files).map(([kind, pattern]) => [
      kind,
      all.filter((file) => pattern.test(file)).reduce((sum, file) => sum + statSync(join(directory, file)).size, 0),
    ]),
  )
}

/** Fills a log and builds its read models and its tree. Returns the number of events. */
async function prepare(installation: Installation, start: Start, transfers: number, report: Report): Promise<number> {
  const { directory } = installation
  const startedAtMs = performance.now()
  // A larger young generation saves a fifth of the time.
  const options = ['--single-threaded-gc', '--max-semi-space-size=64']
  execFileSync(process.execPath, [...options, growLog, directory, String(transfers * eventsPerTransfer)])
  report('filling the log, s', (performance.now() - startedAtMs) / 1_000)
  await installation.command('audit', 'restart-tree', '--reason', 'a log without a tree', '--yes')
  const rebuild = await measureCommand<{ readonly position: string }[]>(installation, 'projections', 'rebuild', '--all')
  const events = Number(rebuild.output[0]!.position)
  report('events', events)
  report('projections rebuild, us of CPU per event', (rebuild.cpuMs * 1_000) / events)
  report('projections rebuild, peak memory, MiB', rebuild.peakMegabytes)
  const service = await start()
  try {
    await waitUntil(
      'the tree covers the log',
      async () => {
        const sealed = (await metricsOf(service.port)).match(/^transferd_audit_tree_size (\d+)$/m)?.[1]
        return Number(sealed) >= events
      },
      treeCheckMs,
    )
    await catchUpSeconds(service.port)
    await waitUntilIdle([service.pid])
    report('first start with a new tree, us of CPU per event', (cpuMs(service.pid) * 1_000) / events)
  } finally {
    await service.stop()
  }
  return events
}

async function measureStart(service: RunningService, report: Report): Promise<void> {
  report('time until ready, ms', service.readyAfterMs)
  await waitUntilIdle([service.pid])
  report('CPU time until idle, ms', cpuMs(service.pid))
  report('resident memory when idle, MiB', residentMegabytes(service.pid))
}

async function measureCreates(service: RunningService, merchant: BenchMerchant, report: Report): Promise<number> {
  const { port, pid } = service
  const path = '/api/services/app/TransactionRequests/CreateDeposit'
  const count = Math.ceil((maxPerSecond * durationMs) / 1_000)
  const nextRequest = prepareCreates({ ...merchant, path, connections, count })
  const waitForProjections = async () => void (await catchUpSeconds(port))
  const created = await measureLoad(
    { service: pid },
    { port, connections, durationMs, nextRequest },
    waitForProjections,
  )
  report('creates per second', created.requestsPerSecond)
  report('creates, p99 ms', created.p99Ms)
  report('creates, us of CPU each', created.cpuUs.service ?? Number.NaN)
  return created.requests
}

/** Signs in to the dashboard and returns the header with its cookies. */
async function signIn(directory: string, port: number): Promise<string> {
  const { users } = JSON.parse(readFileSync(join(directory, 'sandbox.json'), 'utf8')) as {
    readonly users: readonly { readonly role: string; readonly email: string; readonly password: string }[]
  }
  const { email, password } = users.find(({ role }) => role === 'operations')!
  const origin = `http://127.0.0.1:${port}`
  const response = await fetch(`${origin}/dashboard/api/session`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  if (!response.ok) throw new Error(`the sign-in failed: ${response.status}`)
  const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
  return `Cookie: ${cookies.join('; ')}`
}

/** Lists a merchant's transfers through the API. In the dashboard, searches all merchants for a reference, and for a name that all transfers have. */
async function measureReads(
  { port, pid }: RunningService,
  { directory }: Installation,
  merchant: BenchMerchant,
  transfers: number,
  report: Report,
): Promise<void> {
  const user = await signIn(directory, port)
  const get = (path: string, header: string) =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${header}\r\n\r\n`)
  const search = (text: string) => get(`/dashboard/api/transfers?limit=20&text=${encodeURIComponent(text)}`, user)
  const searches = (searchesPerSecond * durationMs) / 1_000
  let searched = 0
  const reference = () => `grown-${Math.floor(((searched++ % searches) * transfers) / searches)}`
  const list = get('/v1/transfers?limit=20', `WebApiKey: ${merchant.webApiKey}`)
  const common = search('custom ays')
  for (const [name, perSecond, nextRequest] of [
    ['list of 20 transfers', listsPerSecond, () => list],
    ['search for a reference', searchesPerSecond, () => search(reference())],
    ['search for the beginnings of two common words', searchesPerSecond, () => common],
  ] as const) {
    const read = await measureLoad({ service: pid }, { port, connections: 4, durationMs, perSecond, nextRequest })
    report(`${name}, p50 ms`, read.p50Ms)
    report(`${name}, p99 ms`, read.p99Ms)
    report(`${name}, us of CPU`, read.cpuUs.service ?? Number.NaN)
  }
}

/** Runs a command that reads the whole log. */
async function measureCommand<Output>(installation: Installation, ...args: string[]) {
  const usedMs = cpuMs(process.pid)
  const { output, peakMegabytes } = await installation.watchedCommand<Output>(...args)
  return { output, peakMegabytes, cpuMs: cpuMs(process.pid) - usedMs }
}

/** Creates transfers, and reports the bytes that a pending transfer takes once the service has stopped and has merged its journals. */
async function measureUse(
  installation: Installation,
  start: Start,
  merchant: BenchMerchant,
  transfers: number,
  report: Report,
): Promise<void> {
  const { directory } = installation
  const before = sizesIn(directory)
  const service = await start()
  let created: number
  try {
    await measureStart(service, report)
    created = await measureCreates(service, merchant, report)
    await measureReads(service, installation, merchant, transfers, report)
    report('resident memory afterwards, MiB', residentMegabytes(service.pid))
  } finally {
    await service.stop()
  }
  for (const [kind, bytes] of sizesIn(directory))
    report(`${kind}, bytes per pending transfer`, (bytes - before.get(kind)!) / created)
}

async function measureDeliveries(
  installation: Installation,
  start: Start,
  receiver: Receiver,
  report: Report,
): Promise<void> {
  const service = await start()
  try {
    const notified = await installation.createMerchant(`http://127.0.0.1:${receiver.port}/`, '--callback-on-create')
    const { perSecond, cpuUs } = await deliverBacklog(installation, service, notified, receiver, callbacks)
    report('callbacks delivered per second', perSecond)
    report('us of CPU per callback delivered', cpuUs.service ?? Number.NaN)
  } finally {
    await service.stop()
  }
}

async function measureSize(transfers: number, receiver: Receiver, directory: string, cleanup: Cleanup): Promise<void> {
  const report: Report = (figure, value) => row(`${transfers.toLocaleString('en')} transfers`, figure, [value])
  const installation = new Installation(directory)
  const start = async () => {
    const service = await installation.start()
    // Otherwise it would continue if the bench is stopped.
    cleanup(service.stop)
    return service
  }
  const events = await prepare(installation, start, transfers, report)
  for (const [kind, bytes] of sizesIn(directory)) report(`${kind}, bytes per completed transfer`, bytes / transfers)
  const verify = await measureCommand(installation, 'audit', 'verify')
  report('audit verify, us of CPU per event', (verify.cpuMs * 1_000) / events)
  report('audit verify, peak memory, MiB', verify.peakMegabytes)
  const [merchant]: BenchMerchant[] = JSON.parse(readFileSync(join(directory, 'merchants.json'), 'utf8'))
  if (merchant === undefined) throw new Error('the log has no merchants')
  const startedAtMs = performance.now()
  await installation.command('merchants', 'show', merchant.id)
  report('merchants show, ms', performance.now() - startedAtMs)
  await measureUse(installation, start, merchant, transfers, report)
  await measureDeliveries(installation, start, receiver, report)
}

await runPart(async (cleanup) => {
  title('growth with the size of the log')
  const receiver = await startReceiver()
  cleanup(receiver.stop)
  for (const transfers of sizes) {
    const directory = temporaryDirectory(cleanup)
    try {
      await measureSize(transfers, receiver, directory, cleanup)
    } catch (error) {
      // The rows of the other sizes remain useful.
      note(`FAILED: ${transfers.toLocaleString('en')} transfers: ${error}`)
      process.exitCode = 1
    }
    rmSync(directory, { recursive: true, force: true })
  }
})
