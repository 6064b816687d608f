import type { Receiver } from './bench-receiver.js'
import { type BenchMerchant, type Installation, until } from './bench-service.js'
import { cpuMs, settled, threadsMs } from './cpu-usage.js'
import { prepareCreates } from './create-load.js'
import { runLoad } from './http-load.js'
import type { Processes } from './measured-load.js'

const connections = 64
const path = '/api/services/app/TransactionRequests/CreateDeposit'
const createsWithinMs = 300_000
const gone = 410

export interface Delivery {
  readonly perSecond: number
  /** Microseconds of processor time for each callback. */
  readonly cpuUs: { readonly [what: string]: number }
}

/** From the first callback to the last, and until the processes have come to rest. The receiver's own time is told as well. */
export async function measuredDelivery(
  processes: Processes,
  receiver: Receiver,
  callbacks: number,
  begin: () => Promise<unknown>,
): Promise<Delivery> {
  const all: Processes = { ...processes, receiver: receiver.pid }
  const pids = Object.values(all)
  await settled(pids)
  receiver.answerWith(200)
  const had = (await receiver.received()).callbacks
  const before = pids.map(cpuMs)
  await begin()
  await until('all callbacks have come', async () => (await receiver.received()).callbacks >= had + callbacks)
  const { firstAtMs, lastAtMs } = await receiver.received()
  await settled(pids)
  const cpuUs = Object.fromEntries(
    Object.keys(all).map((what, i) => [what, ((cpuMs(pids[i]!) - before[i]!) * 1_000) / callbacks]),
  )
  return { perSecond: callbacks / ((lastAtMs - firstAtMs) / 1_000), cpuUs }
}

/**
 * As many deposits as callbacks are created, whose creation is told; the first callback finds the endpoint gone, so it is disabled and
 * everything waits, until it is enabled and all of them are delivered by the whole service.
 */
export async function deliverWaiting(
  installation: Installation,
  merchant: BenchMerchant,
  receiver: Receiver,
  callbacks: number,
): Promise<Delivery> {
  receiver.answerWith(gone)
  const creating = await installation.start('api')
  const nextRequest = prepareCreates({ ...merchant, path, connections, count: callbacks })
  const load = { port: creating.port, connections, durationMs: createsWithinMs, requests: callbacks, nextRequest }
  const { statuses } = await runLoad(load)
  await creating.stop()
  if (statuses[200] !== callbacks) throw new Error(`creates were refused: ${JSON.stringify(statuses)}`)
  const service = await installation.start()
  try {
    const started = cpuMs(service.pid)
    await settled([service.pid])
    const recordUs = ((cpuMs(service.pid) - started) * 1_000) / callbacks
    const before = threadsMs(service.pid)
    const enable = () => installation.command('callbacks', 'enable', merchant.id)
    const { perSecond, cpuUs } = await measuredDelivery({ service: service.pid }, receiver, callbacks, enable)
    const mainMs = (threadsMs(service.pid).get('main') ?? Number.NaN) - (before.get('main') ?? Number.NaN)
    const parts = {
      'of the service, its main thread': (mainMs * 1_000) / callbacks,
      'recorded before, with the projections of the creates': recordUs,
    }
    return { perSecond, cpuUs: { ...cpuUs, ...parts } }
  } finally {
    await service.stop()
  }
}
