/**
 * Measures the creates of one merchant alone, and while another merchant or a user of the dashboard does its worst within its limits. Also
 * reports the latest response of /health/live. BENCH_SECONDS, BENCH_ROUNDS and BENCH_TRANSFERS set the size.
 */
import { fork } from 'node:child_process'
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { startService } from '../examples/example-service.js'
import type { Aggressor, FromAggressors } from './support/aggressors.js'
import { runPart } from './support/bench-part.js'
import { note, row, title } from './support/bench-report.js'
import { type BenchMerchant, catchUpSeconds } from './support/bench-service.js'
import { threadsMs } from './support/cpu-usage.js'
import { prepareCreates } from './support/create-load.js'
import { runLoad } from './support/http-load.js'

const durationMs = Number(process.env.BENCH_SECONDS ?? 8) * 1_000
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const transfers = Number(process.env.BENCH_TRANSFERS ?? 20_000)
const path = '/api/services/app/TransactionRequests/CreateDeposit'
const perSecond = 50
const connections = 4
/** Below the limit of health checks per address. */
const liveChecksPerSecond = 15
/** That of the threads in which the service serves the aggressors. */
const aggressorNiceness = 10
const api = '/dashboard/api'
const day = 24 * 60 * 60 * 1_000

interface Measured {
  readonly p99Ms: number
  readonly maxMs: number
  readonly latestLiveMs: number
  /** The share of a core that the main thread of the service used. */
  readonly mainShare: number
}

/** Starts the aggressors in a separate process. Returns a function that stops them and returns their responses by status. */
function start(load: readonly Aggressor[] | 'busy loop'): () => Promise<FromAggressors['statuses']> {
  const child = fork(fileURLToPath(new URL('support/aggressors.js', import.meta.url)), {
    stdio: ['ignore', 2, 2, 'ipc'],
  })
  let latest: FromAggressors['statuses'] = {}
  // Aggressors are other machines: without this, the system would share the cores of the service with them as equals.
  setPriority(child.pid!, aggressorNiceness)
  child.on('message', ({ statuses }: FromAggressors) => (latest = statuses))
  child.send(load)
  return () =>
    new Promise((resolve) => {
      child.once('exit', () => resolve(latest))
      child.disconnect()
    })
}

/** Measures creates and /health/live at an even rate. */
async function measure(port: number, pid: number, merchant: BenchMerchant): Promise<Measured> {
  const mainMs = () => threadsMs(pid).get('main') ?? Number.NaN
  const [startedMs, usedMs] = [performance.now(), mainMs()]
  const count = Math.ceil((perSecond * durationMs) / 1_000) + connections
  const nextRequest = prepareCreates({ ...merchant, path, connections, count })
  const getLive = Buffer.from('GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  const [creates, live] = await Promise.all([
    runLoad({ port, connections, durationMs, perSecond, nextRequest }),
    runLoad({ port, connections: 1, durationMs, perSecond: liveChecksPerSecond, nextRequest: () => getLive }),
  ])
  const failed = [creates, live].flatMap(({ statuses }) => Object.keys(statuses)).filter((status) => status !== '200')
  if (failed.length > 0) note(`NOT 200: ${JSON.stringify([creates.statuses, live.statuses])}`)
  const mainShare = (mainMs() - usedMs) / (performance.now() - startedMs)
  return { p99Ms: creates.p99Ms, maxMs: creates.maxMs, latestLiveMs: live.maxMs, mainShare }
}

await runPart(async (cleanup) => {
  title(
    `creates of a merchant while others read ${transfers} transfers: ${rounds} rounds of ${durationMs / 1_000} s each`,
  )
  const service = await startService()
  cleanup(() => service.stop())
  const { baseUrl, sandbox, pid } = service
  const port = Number(new URL(baseUrl).port)
  const create = (name: string) => {
    const limits = ['--sandbox', '--allow-ip', '127.0.0.1', '--rate-limit', '100']
    return service.cli<BenchMerchant>(
      'merchants',
      'create',
      '--name',
      name,
      '--callback-url',
      'http://127.0.0.1:9/',
      ...limits,
    )
  }
  const [quiet, busy] = [await create('Quiet'), await create('Busy')]
  // The history that the readers read.
  await service.cli('merchants', 'set', busy.id, '--rate-limit', '100000')
  const filling = prepareCreates({ ...busy, path, connections: 32, count: transfers + 32 })
  await runLoad({ port, connections: 32, durationMs: 600_000, requests: transfers, nextRequest: filling })
  await service.cli('merchants', 'set', busy.id, '--rate-limit', '100')
  await catchUpSeconds(port)

  const cookieOf = async (role: string) => {
    const { email, password } = sandbox.users.find((user) => user.role === role)!
    const headers = { origin: baseUrl, 'content-type': 'application/json' }
    const body = JSON.stringify({ email, password })
    const response = await fetch(`${baseUrl}${api}/session`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(`${role} could not sign in: ${response.status}`)
    return {
      cookie: response.headers
        .getSetCookie()
        .map((cookie) => cookie.split(';')[0])
        .join('; '),
    }
  }
  const [exporter, auditor, reader] = [
    await cookieOf('administrator'),
    await cookieOf('auditor'),
    await cookieOf('operations'),
  ]
  const now = Date.now()
  const range = `from=${new Date(now - 60 * day).toISOString()}&to=${new Date(now + day).toISOString()}`
  const own = `merchantId=${busy.id}`
  const as = (headers: Aggressor['headers'], connections: number, ...paths: string[]): Aggressor => {
    return { baseUrl, connections, headers, paths }
  }
  const exports = as(exporter, 100, `${api}/transfers.csv`)
  const audits = as(
    auditor,
    12,
    `${api}/audit/export?format=csv`,
    `${api}/audit/actions?actor=unknown`,
    `${api}/audit/manifest?format=ndjson`,
  )
  const feed = as({ webapikey: busy.webApiKey }, 12, '/v1/events?limit=100')
  const lists = as(
    reader,
    12,
    `${api}/transfers?limit=100&sort=largest&${own}`,
    `${api}/overview?${range}`,
    `${api}/statement?${range}`,
  )
  const live = as(reader, 6, `${api}/live`)
  const loads: readonly (readonly [string, readonly Aggressor[] | 'busy loop'])[] = [
    ['alone', []],
    ['next to a process that only computes', 'busy loop'],
    ['100 exports of a user', [exports]],
    ['audit exports and searches', [audits]],
    ['feed, 12 connections of a merchant', [feed]],
    ['sorted lists, overviews, statements', [lists]],
    ['6 live streams', [live]],
    ['all of them', [exports, audits, feed, lists, live]],
  ]
  // Discard the first measurement, in which hot code is compiled.
  await measure(port, pid, quiet)
  const measured = new Map<string, Measured[]>(loads.map(([name]) => [name, []]))
  const statuses = new Map<string, FromAggressors['statuses']>()
  for (let round = 0; round < rounds; round++) {
    for (const [name, load] of loads) {
      const stop = start(load)
      measured.get(name)!.push(await measure(port, pid, quiet))
      statuses.set(name, await stop())
    }
  }
  const alone = measured.get('alone')!
  for (const [name, results] of measured) {
    row(
      name,
      'p99 ms',
      results.map(({ p99Ms }) => p99Ms),
    )
    row(
      name,
      'p99 as a multiple of alone',
      results.map(({ p99Ms }, round) => p99Ms / alone[round]!.p99Ms),
    )
    row(
      name,
      'max ms',
      results.map(({ maxMs }) => maxMs),
    )
    row(
      name,
      'latest /health/live, ms',
      results.map(({ latestLiveMs }) => latestLiveMs),
    )
    row(
      name,
      'main thread, % of a core',
      results.map(({ mainShare }) => mainShare * 100),
    )
    note(`${name}: responses to the others by status in the last round: ${JSON.stringify(statuses.get(name))}`)
  }
})
