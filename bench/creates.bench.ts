/**
 * Creates through HTTP: the whole service (durable log, projections, the callbacks' subscription) and its peers (bench/peers), by turns. Sizes
 * by BENCH_CONNECTIONS, BENCH_SECONDS and BENCH_ROUNDS.
 */

import { type AtEnd, part } from './support/bench-part.js'
import { note, row, summaryOf, title } from './support/bench-report.js'
import { type BenchMerchant, catchUpSeconds, Installation, startPeer } from './support/bench-service.js'
import { prepareCreates } from './support/create-load.js'
import { startPostgreSql } from './support/database-servers.js'
import { installPeers } from './support/install-peers.js'
import { costUs, type MeasuredLoad, measuredLoad, type Processes } from './support/measured-load.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const connections = Number(process.env.BENCH_CONNECTIONS ?? 64)
const durationMs = Number(process.env.BENCH_SECONDS ?? 8) * 1_000
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const path = '/api/services/app/TransactionRequests/CreateDeposit'
const maxPerSecond = 60_000

interface Contender {
  readonly name: string
  readonly port: number
  /** Whose processor time is told, by what they are. */
  readonly processes: Processes
  readonly rounds: Round[]
}

interface Round extends MeasuredLoad {
  readonly behindSeconds?: number
}

async function contend(merchant: BenchMerchant, installation: Installation, atEnd: AtEnd): Promise<Contender[]> {
  const given = { merchant: { ...merchant, merchantId: merchant.id } }
  const contenders: Contender[] = []
  const peer = async (name: string, file: string, more: object, processes: { [what: string]: number }) => {
    const { pid, first, stop } = await startPeer(file, { ...given, ...more })
    atEnd(stop)
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
        note(`NOT RUN: ${name}: no PostgreSQL is installed`)
        continue
      }
      atEnd(server.stop)
      note(`${name}: ${server.version}`)
      await peer(name, file, { database: server.database }, { database: server.pid })
    }
  }
  const service = await installation.start()
  atEnd(service.stop)
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
  if (name !== 'transferd') return measuredLoad(processes, load)
  let behindSeconds = 0
  const result = await measuredLoad(processes, load, async () => {
    behindSeconds = await catchUpSeconds(port)
  })
  return { ...result, behindSeconds }
}

function tell({ name, rounds }: Contender, peers: readonly Contender[]): void {
  const figure = (what: string, of: (round: Round, n: number) => number) => row(name, what, rounds.map(of))
  figure('creates per second', (round) => round.requestsPerSecond)
  figure('p50 ms', (round) => round.p50Ms)
  figure('p99 ms', (round) => round.p99Ms)
  figure('longest ms', (round) => round.maxMs)
  for (const what of ['service', 'database', 'load generator'])
    figure(`us of CPU per create: ${what}`, ({ cpuUs }) => cpuUs[what] ?? Number.NaN)
  figure('us of CPU per create: service and database', costUs)
  figure('cores busy with something else', (round) => round.othersCores)
  for (const peer of peers) {
    figure(`rate, times ${peer.name}'s`, (round, n) => round.requestsPerSecond / peer.rounds[n]!.requestsPerSecond)
    figure(`CPU, times ${peer.name}'s`, (round, n) => costUs(round) / costUs(peer.rounds[n]!))
  }
  figure('projections caught up after, s', ({ behindSeconds = Number.NaN }) => behindSeconds)
}

await part(async (atEnd) => {
  const directory = temporaryDirectory(atEnd)
  title(
    `creates through HTTP, ${connections} connections, ${rounds} rounds of ${durationMs / 1_000} s by turns: median (min to max)`,
  )
  const installation = new Installation(directory)
  const merchant = await installation.createMerchant('http://127.0.0.1:9/')
  const contenders = await contend(merchant, installation, atEnd)
  // A round that is thrown away, until everything that runs often is compiled.
  for (const contender of contenders) await measure(contender, merchant, durationMs)
  for (let round = 0; round < rounds; round++) {
    // Not always after the same one.
    const turn = round % 2 === 0 ? contenders : [...contenders].reverse()
    for (const contender of turn) contender.rounds.push(await measure(contender, merchant, durationMs))
  }
  const ours = contenders.at(-1)!
  for (const contender of contenders) tell(contender, contender === ours ? contenders.slice(0, -1) : [])
  const peak = summaryOf(ours.rounds.map(({ requestsPerSecond }) => requestsPerSecond)).median
  const half = await measure(ours, merchant, durationMs, peak / 2)
  row(ours.name, 'p99 ms at half of its rate', [half.p99Ms])
})
