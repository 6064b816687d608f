import { setMaxListeners } from 'node:events'
import { type EventStore, endOfLog } from '../event-store/event-store.js'
import { Checkpoint } from '../subscriptions/checkpoint.js'
import { follow } from '../subscriptions/follow.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import { CallbackMemory, rememberedPrefixes } from './callback-memory.js'
import { type DeliveryDependencies, DeliveryWorker, deliveredPrefixes } from './deliver/delivery-worker.js'
import type { IsNeeded } from './needed-events.js'
import { CallbackRecorder, recordFromSubscription } from './record/callback-recorder.js'
import { sweepCallbacks, sweepCheckpoint } from './record/callback-sweep.js'

/** The time that a stop grants for reporting the last attempts. */
const reportMs = 2_000
/** Following each create separately would cost more than everything else that this part does for it. */
const gatherMs = 20
const streamPrefixes = [...new Set([...rememberedPrefixes, ...deliveredPrefixes])]

interface CallbackDependencies extends DeliveryDependencies {
  /** Returns the store that is followed. It omits the events that are not needed, except for the last one of a page. */
  readonly followed: (isNeeded: IsNeeded) => EventStore
}

/** Records and delivers callbacks in the process that holds the lease. Start `merchants` before. `stop` waits for the attempts in flight. */
export function startCallbacks(deps: CallbackDependencies): Part {
  return startUnderLease(deps, 'callbacks', async ({ signal }, { onUnavailable }, stopping) => {
    deps.logger.info('callbacks: this process now records and delivers callbacks')
    const checkpoint = await Checkpoint.load(deps.store, sweepCheckpoint(deps.store, deps.clock))
    // Before anything is read for it, because a lane that is read misses no event that is followed.
    const memory = new CallbackMemory(await endOfLog(deps.store))
    const isSandbox = (merchantId: string) => deps.merchants.settingsOf(merchantId)?.sandbox ?? false
    const recording = {
      ...deps,
      onUnavailable,
      recorder: new CallbackRecorder(deps.store, deps.commands, memory, isSandbox),
      checkpoint,
      unrecorded: memory.unrecorded,
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
    const worker = new DeliveryWorker({ ...deps, memory }, signal, cutOff.signal)
    const following = follow({
      store: deps.followed((event) => memory.isNeeded(event)),
      after: memory.through,
      streamPrefixes,
      signal,
      gatherMs,
      onUnavailable,
      isRetried: () => true,
      handle(page) {
        memory.take(page)
        worker.take(page)
      },
    }).finally(() => memory.end())
    try {
      await Promise.all([
        following,
        recordFromSubscription(recording, signal),
        sweepCallbacks(recording, signal),
        worker.run(),
      ])
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onEnd)
    }
  })
}
