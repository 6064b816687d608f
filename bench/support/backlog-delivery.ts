import type { Receiver } from './bench-receiver.js'
import { type BenchMerchant, type Installation, type RunningService, waitUntil } from './bench-service.js'
import { cpuMs, residentMegabytes, threadsMs, waitUntilIdle } from './cpu-usage.js'
import { prepareCreates } from './create-load.js'
import { runLoad } from './http-load.js'
import type { Processes } from './measured-load.js'

const connections = 64
const path = '/api/services/app/TransactionRequests/CreateDeposit'
const createsWithinMs = 300_000
const gone = 410
/** Threads with less CPU time per callback are not reported. */
const reportedThreadUs = 10

export interface Delivery {
  readonly perSecond: number
  /** The CPU time per callback and component in microseconds, including the receiver. */
  readonly cpuUs: { readonly [component: string]: number }
  /** The service's resident memory after the delivery. */
  readonly residentMegabytes?: number
}

/** Measures the rate from the first callback to the last, and the CPU time until the processes are idle. */
export async function measureDelivery(
  processes: Processes,
  receiver: Receiver,
  callbacks: number,
  start: () => Promise<unknown>,
): Promise<Delivery> {
  const all: Processes = { ...processes, receiver: receiver.pid }
  const pids = Object.values(all)
  await waitUntilIdle(pids)
  receiver.respondWith(200)
  const callbacksBefore = (await receiver.received()).callbacks
  const expected = callbacksBefore + callbacks
  const before = pids.map(cpuMs)
  await start()
  await waitUntil('all callbacks are delivered', async () => (await receiver.received()).callbacks >= expected)
  const { firstAtMs, lastAtMs } = await receiver.received()
  await waitUntilIdle(pids)
  const cpuUs = Object.fromEntries(
    Object.keys(all).map((component, i) => [component, ((cpuMs(pids[i]!) - before[i]!) * 1_000) / callbacks]),
  )
  return { perSecond: callbacks / ((lastAtMs - firstAtMs) / 1_000), cpuUs }
}

/** Creates a deposit for each callback. */
async function create({ port }: RunningService, merchant: BenchMerchant, count: number): Promise<void> {
  const nextRequest = prepareCreates({ ...merchant, path, connections, count })
  const { statuses } = await runLoad({ port, connections, durationMs: createsWithinMs, requests: count, nextRequest })
  if (statuses[200] !== count) throw new Error(`creates were rejected: ${JSON.stringify(statuses)}`)
}

/**
 * Creates a deposit for each callback while the endpoint responds with 410, which disables it. Then it enables the endpoint and measures
 * how the whole service delivers the backlog.
 */
export async function deliverBacklog(
  installation: Installation,
  service: RunningService,
  merchant: BenchMerchant,
  receiver: Receiver,
  callbacks: number,
  servers: Processes = {},
): Promise<Delivery> {
  receiver.respondWith(gone)
  const cpuBefore = cpuMs(service.pid)
  await create(service, merchant, callbacks)
  await waitUntilIdle([service.pid])
  const createUs = ((cpuMs(service.pid) - cpuBefore) * 1_000) / callbacks
  const threadsBefore = threadsMs(service.pid)
  const enable = () => installation.command('callbacks', 'enable', merchant.id)
  const { perSecond, cpuUs } = await measureDelivery({ service: service.pid, ...servers }, receiver, callbacks, enable)
  const threads = Object.fromEntries(
    [...threadsMs(service.pid)].map(([thread, ms]) => [
      `the service's ${thread}`,
      ((ms - (threadsBefore.get(thread) ?? 0)) * 1_000) / callbacks,
    ]),
  )
  const busy = Object.fromEntries(Object.entries(threads).filter(([, us]) => us >= reportedThreadUs))
  const parts = { ...busy, 'the create and the recording, before the delivery': createUs }
  return { perSecond, cpuUs: { ...cpuUs, ...parts }, residentMegabytes: residentMegabytes(service.pid) }
}

/** Measures callbacks that are delivered while the creates that cause them arrive, at the maximum rate. The CPU time includes the creates. */
export function deliverWhileCreating(
  service: RunningService,
  merchant: BenchMerchant,
  receiver: Receiver,
  callbacks: number,
  servers: Processes = {},
): Promise<Delivery> {
  const processes = { service: service.pid, ...servers }
  return measureDelivery(processes, receiver, callbacks, () => create(service, merchant, callbacks))
}
