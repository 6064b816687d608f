import { setMaxListeners } from 'node:events'
import { endOfLog } from '../event-store/event-store.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import { CallbackMemory } from './callback-memory.js'
import { type DeliveryDependencies, DeliveryWorker } from './deliver/delivery-worker.js'
import { CallbackRecorder, recordFromSubscription } from './record/callback-recorder.js'
import { SweepCheckpoint, sweepCallbacks } from './record/callback-sweep.js'

/** The time that a stop grants for reporting the last attempts. */
const reportMs = 2_000

/** Records and delivers callbacks in the process that holds the lease. Start `merchants` before. `stop` waits for the attempts in flight. */
export function startCallbacks(deps: DeliveryDependencies): Part {
  return startUnderLease(deps, 'callbacks', async ({ signal }, { onUnavailable }, stopping) => {
    deps.logger.info('callbacks: this process now records and delivers callbacks')
    const checkpoint = await SweepCheckpoint.load(deps.store, deps.clock)
    // Before anything is read for it, because a lane that is read misses no event that is followed.
    const memory = new CallbackMemory(await endOfLog(deps.store))
    const isSandbox = (merchantId: string) => deps.merchants.settingsOf(merchantId)?.sandbox ?? false
    const recording = {
      ...deps,
      onUnavailable,
      recorder: new CallbackRecorder(deps.store, deps.commands, memory, isSandbox),
      checkpoint,
    }
    const cutOff = new AbortController()
    setMaxListeners(0, cutOff.signal)
    let timer: NodeJS.Timeout | undefined
    const onEnd = () => {
      // After a lost lease another process may already send the same callbacks. Before a stop, let the attempts end.
      if (stopping.aborted) timer = setTimeout(() => cutOff.abort(), deps.timing.attemptTimeoutMs + reportMs)
      else cutOff.abort()
    }
    signal.addEventListener('abort', onEnd)
    if (signal.aborted) onEnd()
    const worker = new DeliveryWorker({ ...deps, onUnavailable, memory }, signal, cutOff.signal)
    try {
      await Promise.all([recordFromSubscription(recording, signal), sweepCallbacks(recording, signal), worker.run()])
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onEnd)
    }
  })
}
