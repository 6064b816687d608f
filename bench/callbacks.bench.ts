/**
 * Callbacks that wait, delivered to one quick endpoint: by the whole service, everything running, once the endpoint is enabled; and by BullMQ
 * (bench/peers) from its queue, to the same endpoint, by turns. Sizes by BENCH_CALLBACKS and BENCH_ROUNDS.
 */
import { once } from 'node:events'
import { type Delivery, deliverWaiting, measuredDelivery } from './support/backlog-delivery.js'
import { type AtEnd, part } from './support/bench-part.js'
import { type Receiver, startReceiver } from './support/bench-receiver.js'
import { note, row, title } from './support/bench-report.js'
import { type BenchMerchant, Installation, startPeer } from './support/bench-service.js'
import { startRedis } from './support/database-servers.js'
import { installPeers } from './support/install-peers.js'
import { costUs } from './support/measured-load.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const callbacks = Number(process.env.BENCH_CALLBACKS ?? 20_000)
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)

async function startBullmq(merchant: BenchMerchant, receiver: Receiver, atEnd: AtEnd) {
  if (!installPeers()) return undefined
  const server = await startRedis()
  if (server === undefined) {
    note('NOT RUN: BullMQ: no Redis is installed')
    return undefined
  }
  atEnd(server.stop)
  note(`BullMQ: ${server.version}`)
  const given = { merchant, redis: server.redis, receiverPort: receiver.port }
  const { child, pid, stop } = await startPeer('bullmq.js', given)
  atEnd(stop)
  return async (): Promise<Delivery> => {
    const recorded = once(child, 'message')
    child.send({ record: callbacks })
    await recorded
    const processes = { service: pid, database: server.pid }
    return measuredDelivery(processes, receiver, callbacks, async () => child.send({}))
  }
}

function tell(name: string, measured: readonly Delivery[]): void {
  row(
    name,
    'callbacks per second',
    measured.map(({ perSecond }) => perSecond),
  )
  for (const what of new Set(measured.flatMap(({ cpuUs }) => Object.keys(cpuUs))))
    row(
      name,
      `us of CPU per callback: ${what}`,
      measured.map(({ cpuUs }) => cpuUs[what] ?? Number.NaN),
    )
}

await part(async (atEnd) => {
  const receiver = await startReceiver()
  atEnd(receiver.stop)
  const directory = temporaryDirectory(atEnd)
  const installation = new Installation(directory)
  const merchant = await installation.createMerchant(`http://127.0.0.1:${receiver.port}/`, '--callback-on-create')
  const bullmq = await startBullmq(merchant, receiver, atEnd)
  const ours: Delivery[] = []
  const theirs: Delivery[] = []
  for (let round = 0; round < rounds; round++) {
    ours.push(await deliverWaiting(installation, merchant, receiver, callbacks))
    if (bullmq) theirs.push(await bullmq())
  }
  title(
    `${callbacks.toLocaleString('en')} callbacks that wait, delivered to one endpoint, ${rounds} rounds by turns: median (min to max)`,
  )
  tell('transferd', ours)
  if (bullmq) {
    tell('BullMQ + Redis', theirs)
    row(
      'transferd',
      "rate, times BullMQ's",
      ours.map(({ perSecond }, n) => perSecond / theirs[n]!.perSecond),
    )
    row(
      'transferd',
      "CPU, times BullMQ's",
      ours.map((round, n) => costUs(round) / costUs(theirs[n]!)),
    )
  }
})
