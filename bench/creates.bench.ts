/**
 * Measures creates over HTTP, alternately by the whole service (durable log, projections and the subscription for callbacks) and by its
 * peers (bench/peers). BENCH_CONNECTIONS, BENCH_SECONDS and BENCH_ROUNDS set the size.
 */

import { Allocations } from './support/allocations.js'
import { type Cleanup, runPart } from './support/bench-part.js'
import { note, row, summaryOf, title } from './support/bench-report.js'
import { type BenchMerchant, catchUpSeconds, Installation, startPeer } from './support/bench-service.js'
import { prepareCreates } from './support/create-load.js'
import { startPostgreSql } from './support/database-servers.js'
import { installPeers } from './support/install-peers.js'
import { costUs, type MeasuredLoad, measureLoad, type Processes } from './support/measured-load.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const connections = Number(process.env.BENCH_CONNECTIONS ?? 64)
const durationMs = Number(process.env.BENCH_SECONDS ?? 8) * 1_000
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const path = '/api/services/app/TransactionRequests/CreateDeposit'
const maxPerSecond = 60_000

interface Contender {
  readonly name: string
  readonly port: number
  /** The processes whose CPU time is reported. */
  readonly processes: Processes
  readonly rounds: Round[]
}

interface Round extends MeasuredLoad {
  readonly behindSeconds?: number
}

async function startContenders(
  merchant: BenchMerchant,
  installation: Installation,
  cleanup: Cleanup,
): Promise<Contender[]> {
  const common = { merchant: { ...merchant, merchantId: merchant.id } }
  const contenders: Contender[] = []
  const peer = async (name: string, file: string, options: object, processes: Processes) => {
    const { pid, first, stop } = await startPeer(file, { ...common, ...options })
    cleanup(stop)
    const { port } = first as { port: number }
    contenders.push({ name, port, processes: { service: pid, ...processes }, rounds: [] })
  }
  await peer('bare Fastify', 'bare.js', {}, {})
  if (installPeers()) {
    for (const [name, file] of [
      ['Fastify + PostgreSQL', 'postgres-outbox.js'],
      ['Emmett + PostgreSQL', 'emmett.js'],
    ] as const) {
      const server = await startPostgreSql()
      if (server === undefined) {
        note(`NOT RUN: ${name}, because PostgreSQL is not installed`)
        continue
      }
      cleanup(server.stop)
      note(`${name}: ${server.version}`)
      await peer(name, file, { database: server.database }, { database: server.pid })
    }
  }
  const service = await installation.start()
  cleanup(service.stop)
  contenders.push({ name: 'transferd', port: service.port, processes: { service: service.pid }, rounds: [] })
  return contenders
}

async function measure(
  contender: Contender,
  merchant: BenchMerchant,
  durationMs: number,
  perSecond?: number,
): Promise<Round> {
  const { port, processes, name } = contender
  const count = Math.ceil((maxPerSecond * durationMs) / 1_000)
  const nextRequest = prepareCreates({ ...merchant, path, connections, count })
  const load = { port, connections, durationMs, nextRequest, ...(perSecond && { perSecond }) }
  if (!name.startsWith('transferd')) return measureLoad(processes, load)
  let behindSeconds = 0
  const result = await measureLoad(processes, load, async () => {
    behindSeconds = await catchUpSeconds(port)
  })
  return { ...result, behindSeconds }
}

function report({ name, rounds }: Contender, peers: readonly Contender[]): void {
  const figure = (title: string, measured: (round: Round, n: number) => number) =>
    row(name, title, rounds.map(measured))
  figure('creates per second', (round) => round.requestsPerSecond)
  figure('p50 ms', (round) => round.p50Ms)
  figure('p99 ms', (round) => round.p99Ms)
  figure('max ms', (round) => round.maxMs)
  for (const component of ['service', 'database', 'load generator'])
    figure(`us of CPU per create: ${component}`, ({ cpuUs }) => cpuUs[component] ?? Number.NaN)
  figure('us of CPU per create: service and database', costUs)
  figure('cores used by other processes', (round) => round.otherCores)
  for (const { name, rounds } of peers) {
    figure(`rate as a multiple of ${name}'s`, (round, n) => round.requestsPerSecond / rounds[n]!.requestsPerSecond)
    figure(`CPU as a multiple of ${name}'s`, (round, n) => costUs(round) / costUs(rounds[n]!))
  }
  figure('time until the projections caught up, s', ({ behindSeconds = Number.NaN }) => behindSeconds)
}

/** Measures a separate installation, because counting allocations takes time. */
async function measureAllocations(cleanup: Cleanup): Promise<void> {
  if (process.platform !== 'linux') return note('NOT RUN: allocations, which are counted only on Linux')
  const installation = new Installation(temporaryDirectory(cleanup))
  const merchant = await installation.createMerchant('http://127.0.0.1:9/')
  const allocations = new Allocations(temporaryDirectory(cleanup))
  const { pid, port, stop } = await installation.start(undefined, allocations.nodeOptions)
  cleanup(stop)
  const counted: Contender = { name: 'transferd, counted', port, processes: { service: pid }, rounds: [] }
  const measureCounted = () => measure(counted, merchant, durationMs)
  await measureCounted()
  const before = await allocations.read(pid)
  const { requests } = await measureCounted()
  for (const [thread, used] of await allocations.read(pid)) {
    const { bytes = 0, collectionMs = 0, cpuMs = 0 } = before.get(thread) ?? {}
    const report = (figure: string, value: number) => row('transferd', `${figure}: ${thread}`, [value])
    report('bytes allocated per create', (used.bytes - bytes) / requests)
    report('us of CPU per create, while counting', ((used.cpuMs - cpuMs) * 1_000) / requests)
    report(
      'share of CPU time in garbage collections, %',
      (100 * (used.collectionMs - collectionMs)) / (used.cpuMs - cpuMs),
    )
  }
}

await runPart(async (cleanup) => {
  const directory = temporaryDirectory(cleanup)
  title(
    `creates over HTTP, ${connections} connections, ${rounds} alternating rounds of ${durationMs / 1_000} s: median (min to max)`,
  )
  const installation = new Installation(directory)
  const merchant = await installation.createMerchant('http://127.0.0.1:9/')
  const contenders = await startContenders(merchant, installation, cleanup)
  // Discard the first round, in which hot code is compiled.
  for (const contender of contenders) await measure(contender, merchant, durationMs)
  for (let round = 0; round < rounds; round++) {
    // Reverse the order in every second round, so that no contender always follows the same one.
    const order = round % 2 === 0 ? contenders : [...contenders].reverse()
    for (const contender of order) contender.rounds.push(await measure(contender, merchant, durationMs))
  }
  const ours = contenders.at(-1)!
  for (const contender of contenders) report(contender, contender === ours ? contenders.slice(0, -1) : [])
  const peak = summaryOf(ours.rounds.map(({ requestsPerSecond }) => requestsPerSecond)).median
  const half = await measure(ours, merchant, durationMs, peak / 2)
  row(ours.name, 'p99 ms at half of the rate', [half.p99Ms])
  await measureAllocations(cleanup)
})
