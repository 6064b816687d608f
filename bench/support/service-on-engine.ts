import { type Delivery, deliverBacklog, deliverWhileCreating } from './backlog-delivery.js'
import type { Cleanup } from './bench-part.js'
import type { Receiver } from './bench-receiver.js'
import { row } from './bench-report.js'
import { type BenchMerchant, Installation, type RunningService } from './bench-service.js'
import { prepareCreates } from './create-load.js'
import { type MeasuredLoad, measureLoad, type Processes } from './measured-load.js'
import { temporaryDirectory } from './temporary-directory.js'

const connections = 64
const path = '/api/services/app/TransactionRequests/CreateDeposit'
const maxPerSecond = 6_000
const calls = ['append', 'read_stream', 'read_all', 'subscribe', 'ack'] as const

/** The calls of the service to EventStoreDB, and the events that it received. All are 0 on the embedded log. */
interface LogCounts {
  readonly appends: number
  readonly reads: number
  readonly others: number
  readonly received: number
}

interface Round {
  readonly creates: MeasuredLoad
  readonly backlog: Delivery
  readonly creating: Delivery
  /** Per create of a merchant without callbacks. */
  readonly perCreate: LogCounts
  /** Per callback that is recorded and delivered, at the first attempt, while its create arrives. */
  readonly perCallback: LogCounts
}

/** The whole service on an engine, with a merchant that receives no callbacks and one that receives one per create. */
interface ServiceOnEngine {
  readonly name: string
  readonly installation: Installation
  readonly service: RunningService
  readonly silent: BenchMerchant
  readonly notified: BenchMerchant
  /** The server of the log if it runs on this machine. */
  readonly servers: Processes
  readonly rounds: Round[]
}

export async function startOnEngine(
  name: string,
  receiver: Receiver,
  cleanup: Cleanup,
  eventStoreUrl?: string,
  servers: Processes = {},
): Promise<ServiceOnEngine> {
  const installation = new Installation(temporaryDirectory(cleanup), eventStoreUrl)
  const silent = await installation.createMerchant('http://127.0.0.1:9/')
  const notified = await installation.createMerchant(`http://127.0.0.1:${receiver.port}/`, '--callback-on-create')
  const service = await installation.start()
  cleanup(service.stop)
  return { name, installation, service, silent, notified, servers, rounds: [] }
}

async function countsOf({ port }: RunningService): Promise<LogCounts> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const sampleOf = (series: string) => {
    const line = text.split('\n').find((each) => each.startsWith(`${series} `))
    if (line === undefined) throw new Error(`/metrics lacks ${series}`)
    return Number(line.slice(series.length))
  }
  const [appends, streams, all, subscribes, acks] = calls.map((call) =>
    sampleOf(`transferd_log_calls_total{call="${call}"}`),
  ) as [number, number, number, number, number]
  const received = sampleOf('transferd_log_events_received_total')
  return { appends, reads: streams + all, others: subscribes + acks, received }
}

function perOne(before: LogCounts, after: LogCounts, count: number): LogCounts {
  const of = (name: keyof LogCounts) => (after[name] - before[name]) / count
  return { appends: of('appends'), reads: of('reads'), others: of('others'), received: of('received') }
}

function measureCreates({ service, silent, servers }: ServiceOnEngine, durationMs: number): Promise<MeasuredLoad> {
  const { port, pid } = service
  const count = Math.ceil((maxPerSecond * durationMs) / 1_000)
  const nextRequest = prepareCreates({ ...silent, path, connections, count })
  return measureLoad({ service: pid, ...servers }, { port, connections, durationMs, nextRequest })
}

/** Measures one round: creates, then a backlog of callbacks, then callbacks that are delivered while their creates arrive. */
export async function measureOnEngine(
  engine: ServiceOnEngine,
  receiver: Receiver,
  { durationMs, callbacks }: { durationMs: number; callbacks: number },
): Promise<void> {
  const { installation, service, notified, servers } = engine
  const start = await countsOf(service)
  const creates = await measureCreates(engine, durationMs)
  const perCreate = perOne(start, await countsOf(service), creates.requests)
  const backlog = await deliverBacklog(installation, service, notified, receiver, callbacks, servers)
  const before = await countsOf(service)
  const creating = await deliverWhileCreating(service, notified, receiver, callbacks, servers)
  const both = perOne(before, await countsOf(service), callbacks)
  engine.rounds.push({ creates, backlog, creating, perCreate, perCallback: perOne(perCreate, both, 1) })
}

/** Reports the rounds of an engine, and compares them with those of the embedded log. */
export function reportOnEngine({ name, rounds }: ServiceOnEngine, embedded: ServiceOnEngine): void {
  const figure = (title: string, measured: (round: Round, other: Round) => number | undefined) =>
    row(
      name,
      `service: ${title}`,
      rounds.map((round, n) => measured(round, embedded.rounds[n]!) ?? Number.NaN),
    )
  figure('creates per second', ({ creates }) => creates.requestsPerSecond)
  figure('us of CPU per create', ({ creates }) => creates.cpuUs.service)
  figure('us of CPU per create, server of the log', ({ creates }) => creates.cpuUs.server)
  figure('callbacks per second, backlog', ({ backlog }) => backlog.perSecond)
  figure('us of CPU per callback of the backlog', ({ backlog }) => backlog.cpuUs.service)
  figure('us of CPU per callback of the backlog, server of the log', ({ backlog }) => backlog.cpuUs.server)
  figure('callbacks per second while their creates arrive', ({ creating }) => creating.perSecond)
  if (embedded.rounds === rounds) return
  for (const [per, countsOf] of [
    ['create', ({ perCreate }: Round) => perCreate],
    ['callback', ({ perCallback }: Round) => perCallback],
  ] as const) {
    figure(`appends per ${per}`, (round) => countsOf(round).appends)
    figure(`reads per ${per}`, (round) => countsOf(round).reads)
    figure(`subscriptions and acknowledgements per ${per}`, (round) => countsOf(round).others)
    figure(`events received per ${per}`, (round) => countsOf(round).received)
  }
  const rateOf = ({ creates }: Round) => creates.requestsPerSecond
  figure('creates as a multiple of embedded', (round, other) => rateOf(round) / rateOf(other))
  figure('callbacks as a multiple of embedded', ({ backlog }, other) => backlog.perSecond / other.backlog.perSecond)
  figure(
    'us of CPU per create, more than embedded',
    ({ creates }, other) => creates.cpuUs.service! - other.creates.cpuUs.service!,
  )
}
