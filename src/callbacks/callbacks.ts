import { setMaxListeners } from 'node:events'
import type { Lease } from '../read-models/leases.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import { type DeliveryDependencies, DeliveryWorker } from './deliver/delivery-worker.js'
import { ChangeRecorder } from './record/change-recorder.js'
import { Recorder } from './record/recorder.js'
import { Sweep } from './record/sweep.js'
import { SweepCheckpoint } from './record/sweep-checkpoint.js'

/** For writing down, at a stop, what the last attempts came to. */
const reportMs = 2_000

export interface CallbackTiming {
  /** From resolving the name to the head of the answer. */
  readonly attemptTimeoutMs: number
  /** The sweep leaves events younger than this to the subscription: so long waits what a dead consumer holds. */
  readonly sweepBehindMs: number
}

export const defaultTiming: CallbackTiming = { attemptTimeoutMs: 15_000, sweepBehindMs: 5_000 }

export type CallbacksDependencies = Omit<DeliveryDependencies, 'attemptTimeoutMs'> & { readonly timing: CallbackTiming }

/**
 * Records and delivers callbacks wherever the lease `callbacks` is held, in one process at a time. `merchants` must have been
 * started. `stop` waits for the attempts in flight, as long as one may take, and resolves when nothing runs any more.
 */
export function startCallbacks(deps: CallbacksDependencies): Part {
  const stopping = new AbortController()
  setMaxListeners(0, stopping.signal)
  const part = startUnderLease(deps, 'callbacks', async (lease) => {
    deps.logger.info('callbacks: this process records and delivers them now')
    await recordAndDeliver(deps, lease, stopping.signal)
  })
  return {
    async stop() {
      stopping.abort()
      await part.stop()
    },
  }
}

async function recordAndDeliver(deps: CallbacksDependencies, lease: Lease, stopping: AbortSignal): Promise<void> {
  const { store, commands, metrics, logger, clock, timing } = deps
  const { attemptTimeoutMs, sweepBehindMs: behindMs } = timing
  const checkpoint = await SweepCheckpoint.load(store, clock)
  const changes = new ChangeRecorder(store, commands)
  const recorder = new Recorder({ store, changes, metrics, logger, sweptTo: () => checkpoint.position })
  const sweep = new Sweep({ store, changes, metrics, logger, clock, checkpoint, behindMs })

  const cutOff = new AbortController()
  setMaxListeners(0, cutOff.signal)
  let timer: NodeJS.Timeout | undefined
  const onEnd = () => {
    // A lost lease: another process may send the same callbacks already. A stop: let them come to their end.
    if (stopping.aborted) timer = setTimeout(() => cutOff.abort(), attemptTimeoutMs + reportMs)
    else cutOff.abort()
  }
  lease.signal.addEventListener('abort', onEnd)
  if (lease.signal.aborted) onEnd()
  const worker = new DeliveryWorker({ ...deps, attemptTimeoutMs }, lease.signal, cutOff.signal)
  try {
    await Promise.all([recorder.run(lease.signal), sweep.run(lease.signal), worker.run()])
  } finally {
    clearTimeout(timer)
    lease.signal.removeEventListener('abort', onEnd)
  }
}
