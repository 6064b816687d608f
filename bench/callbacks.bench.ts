/**
 * Measures the delivery of a backlog of callbacks to a fast endpoint, alternately by the whole service and by BullMQ (bench/peers), after
 * one round of each to warm up. Then it measures the service's delivery while creates arrive. BENCH_CALLBACKS and BENCH_ROUNDS set the size.
 */
import { once } from 'node:events'
import { type Delivery, deliverBacklog, deliverWhileCreating, measureDelivery } from './support/backlog-delivery.js'
import { type Cleanup, runPart } from './support/bench-part.js'
import { type Receiver, startReceiver } from './support/bench-receiver.js'
import { note, row, title } from './support/bench-report.js'
import { type BenchMerchant, Installation, startPeer } from './support/bench-service.js'
import { startRedis } from './support/database-servers.js'
import { installPeers } from './support/install-peers.js'
import { costUs } from './support/measured-load.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const callbacks = Number(process.env.BENCH_CALLBACKS ?? 20_000)
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)

async function startBullmq(merchant: BenchMerchant, receiver: Receiver, cleanup: Cleanup) {
  if (!installPeers()) return undefined
  const server = await startRedis()
  if (server === undefined) {
    note('NOT RUN: BullMQ, because Redis is not installed')
    return undefined
  }
  cleanup(server.stop)
  note(`BullMQ: ${server.version}`)
  const options = { merchant, redis: server.redis, receiverPort: receiver.port }
  const { child, pid, stop } = await startPeer('bullmq.js', options)
  cleanup(stop)
  return async (): Promise<Delivery> => {
    const recorded = once(child, 'message')
    child.send({ record: callbacks })
    await recorded
    const processes = { service: pid, database: server.pid }
    return measureDelivery(processes, receiver, callbacks, async () => child.send({}))
  }
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
  const bullmq = await startBullmq(merchant, receiver, cleanup)
  const service = await installation.start()
  cleanup(service.stop)
  const ours: Delivery[] = []
  const theirs: Delivery[] = []
  for (let round = 0; round <= rounds; round++) {
    ours.push(await deliverBacklog(installation, service, merchant, receiver, callbacks))
    if (bullmq) theirs.push(await bullmq())
  }
  // Both processes compile their code in the first round.
  ours.shift()
  theirs.shift()
  const creating: Delivery[] = []
  for (let round = 0; round < rounds; round++)
    creating.push(await deliverWhileCreating(service, merchant, receiver, callbacks))
  title(
    `a backlog of ${callbacks.toLocaleString('en')} callbacks to one endpoint, ${rounds} alternating rounds: median (min to max)`,
  )
  report('transferd', ours)
  if (bullmq) {
    report('BullMQ + Redis', theirs)
    row(
      'transferd',
      "rate as a multiple of BullMQ's",
      ours.map(({ perSecond }, n) => perSecond / theirs[n]!.perSecond),
    )
    row(
      'transferd',
      "CPU as a multiple of BullMQ's",
      ours.map((round, n) => costUs(round) / costUs(theirs[n]!)),
    )
  }
  report('transferd while the creates arrive, with their CPU time', creating)
})
