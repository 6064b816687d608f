/**
 * Measures the delivery of a backlog of callbacks to a fast endpoint, alternately by the whole service and by its peers (bench/peers),
 * after one round of each to warm up. Then it measures the service's delivery while creates arrive. BENCH_CALLBACKS and BENCH_ROUNDS set the size.
 */
import { once } from 'node:events'
import { type Delivery, deliverBacklog, deliverWhileCreating, measureDelivery } from './support/backlog-delivery.js'
import { type Cleanup, runPart } from './support/bench-part.js'
import { type Receiver, startReceiver } from './support/bench-receiver.js'
import { note, row, title } from './support/bench-report.js'
import { type BenchMerchant, Installation, startPeer } from './support/bench-service.js'
import { startPostgreSql, startRedis } from './support/database-servers.js'
import { installPeers } from './support/install-peers.js'
import { costUs } from './support/measured-load.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const callbacks = Number(process.env.BENCH_CALLBACKS ?? 20_000)
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)

/** A peer, with its rounds in the order of the service's. */
interface Peer {
  readonly name: string
  readonly deliver: () => Promise<Delivery>
  readonly rounds: Delivery[]
}

async function startQueue(
  name: string,
  file: string,
  server: { readonly pid: number; readonly version: string; stop(): Promise<void> } | undefined,
  options: { readonly merchant: BenchMerchant },
  receiver: Receiver,
  cleanup: Cleanup,
): Promise<Peer[]> {
  if (server === undefined) {
    note(`NOT RUN: ${name}, because its database server is not installed`)
    return []
  }
  cleanup(server.stop)
  note(`${name}: ${server.version}`)
  const { child, pid, stop } = await startPeer(file, { ...server, ...options, receiverPort: receiver.port })
  cleanup(stop)
  const deliver = async () => {
    const recorded = once(child, 'message')
    child.send({ record: callbacks })
    await recorded
    const processes = { service: pid, database: server.pid }
    return measureDelivery(processes, receiver, callbacks, async () => child.send({}))
  }
  return [{ name, deliver, rounds: [] }]
}

async function startPeers(merchant: BenchMerchant, receiver: Receiver, cleanup: Cleanup): Promise<Peer[]> {
  if (!installPeers()) return []
  const options = { merchant }
  return [
    ...(await startQueue('BullMQ + Redis', 'bullmq.js', await startRedis(), options, receiver, cleanup)),
    ...(await startQueue(
      'Graphile Worker + PostgreSQL',
      'graphile-worker.js',
      await startPostgreSql(),
      options,
      receiver,
      cleanup,
    )),
  ]
}

function report(name: string, measured: readonly Delivery[]): void {
  row(
    name,
    'callbacks per second',
    measured.map(({ perSecond }) => perSecond),
  )
  for (const component of new Set(measured.flatMap(({ cpuUs }) => Object.keys(cpuUs))))
    row(
      name,
      `us of CPU per callback: ${component}`,
      measured.map(({ cpuUs }) => cpuUs[component] ?? Number.NaN),
    )
  if (measured.some(({ residentMegabytes }) => residentMegabytes !== undefined))
    row(
      name,
      'MB of resident memory',
      measured.map(({ residentMegabytes }) => residentMegabytes ?? Number.NaN),
    )
}

await runPart(async (cleanup) => {
  const receiver = await startReceiver()
  cleanup(receiver.stop)
  const directory = temporaryDirectory(cleanup)
  const installation = new Installation(directory)
  const merchant = await installation.createMerchant(`http://127.0.0.1:${receiver.port}/`, '--callback-on-create')
  const peers = await startPeers(merchant, receiver, cleanup)
  const service = await installation.start()
  cleanup(service.stop)
  const deliver = () => deliverBacklog(installation, service, merchant, receiver, callbacks)
  const ours = { name: 'transferd', deliver, rounds: [] as Delivery[] }
  const contenders = [ours, ...peers]
  for (let round = 0; round <= rounds; round++) {
    // Reverse the order in every second round, so that no contender always follows the same one.
    const order = round % 2 === 0 ? contenders : [...contenders].reverse()
    for (const contender of order) contender.rounds.push(await contender.deliver())
  }
  // The processes compile their code in the first round.
  for (const contender of contenders) contender.rounds.shift()
  const creating: Delivery[] = []
  for (let round = 0; round < rounds; round++)
    creating.push(await deliverWhileCreating(service, merchant, receiver, callbacks))
  title(
    `a backlog of ${callbacks.toLocaleString('en')} callbacks to one endpoint, ${rounds} alternating rounds: median (min to max)`,
  )
  for (const { name, rounds } of contenders) report(name, rounds)
  for (const { name, rounds } of peers) {
    const figure = (title: string, measured: (round: Delivery, n: number) => number) =>
      row(ours.name, title, ours.rounds.map(measured))
    figure(`rate as a multiple of ${name}'s`, (round, n) => round.perSecond / rounds[n]!.perSecond)
    figure(`CPU as a multiple of ${name}'s`, (round, n) => costUs(round) / costUs(rounds[n]!))
  }
  report('transferd while the creates arrive, with their CPU time', creating)
})
