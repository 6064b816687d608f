/**
 * Measures creates with one process that has all roles, and with several `api` processes on the same embedded log next to one process with
 * the other roles. On a machine with few cores, the processor time by process tells how many cores would be busy.
 * BENCH_CONNECTIONS, BENCH_SECONDS and BENCH_ROUNDS set the size.
 */
import { type Cleanup, runPart } from './support/bench-part.js'
import { note, row, title } from './support/bench-report.js'
import { type BenchMerchant, catchUpSeconds, Installation, type RunningService } from './support/bench-service.js'
import { prepareCreates } from './support/create-load.js'
import { type MeasuredLoad, measureLoad } from './support/measured-load.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const connections = Number(process.env.BENCH_CONNECTIONS ?? 64)
const durationMs = Number(process.env.BENCH_SECONDS ?? 8) * 1_000
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const path = '/api/services/app/TransactionRequests/CreateDeposit'
const maxPerSecond = 20_000
const apiProcesses = [0, 1, 2, 4]

interface Layout {
  readonly name: string
  readonly merchant: BenchMerchant
  readonly api: readonly RunningService[]
  /** The process with the other roles; the same as the one of `api` if it has all roles. */
  readonly background: RunningService
  readonly rounds: MeasuredLoad[]
}

/** Starts a number of `api` processes and one for the other roles, or one for all roles. */
async function startLayout(count: number, cleanup: Cleanup): Promise<Layout> {
  const installation = new Installation(temporaryDirectory(cleanup))
  const merchant = await installation.createMerchant('http://127.0.0.1:9/')
  const start = async (roles?: string) => {
    const service = await installation.start(roles)
    cleanup(service.stop)
    return service
  }
  const background = await start(count === 0 ? undefined : 'projections,callbacks')
  const api: RunningService[] = count === 0 ? [background] : []
  while (api.length < count) api.push(await start('api'))
  const name = count === 0 ? 'one process with all roles' : `${count} api, 1 other`
  return { name, merchant, api, background, rounds: [] }
}

function measure({ merchant, api, background }: Layout): Promise<MeasuredLoad> {
  const count = Math.ceil((maxPerSecond * durationMs) / 1_000)
  const nextRequest = prepareCreates({ ...merchant, path, connections, count })
  const load = { port: api.map(({ port }) => port), connections, durationMs, nextRequest }
  const isShared = api.includes(background)
  const processes = [
    ...api.map(({ pid }, n) => [`api ${n + 1}`, pid]),
    ...(isShared ? [] : [['other', background.pid]]),
  ]
  return measureLoad(Object.fromEntries(processes), load, async () => {
    await catchUpSeconds(background.port)
  })
}

function report({ name, api, rounds }: Layout): void {
  const figure = (title: string, measured: (round: MeasuredLoad) => number) => row(name, title, rounds.map(measured))
  figure('creates per second', ({ requestsPerSecond }) => requestsPerSecond)
  figure('p99 ms', ({ p99Ms }) => p99Ms)
  const ofApi = ({ cpuUs }: MeasuredLoad) => api.reduce((sum, _, n) => sum + cpuUs[`api ${n + 1}`]!, 0)
  figure('us of CPU per create: api processes together', ofApi)
  figure('us of CPU per create: other process', ({ cpuUs }) => cpuUs.other ?? 0)
  figure('cores used by other processes', ({ otherCores }) => otherCores)
}

await runPart(async (cleanup) => {
  title(
    `creates by several processes on one log, ${connections} connections, ${rounds} alternating rounds of ${durationMs / 1_000} s: median (min to max)`,
  )
  const layouts: Layout[] = []
  for (const count of apiProcesses) layouts.push(await startLayout(count, cleanup))
  for (const layout of layouts) await measure(layout)
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? layouts : [...layouts].reverse()
    for (const layout of order) layout.rounds.push(await measure(layout))
  }
  for (const layout of layouts) report(layout)
  note('The load generator uses another core.')
})
