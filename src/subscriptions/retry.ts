import { setTimeout as timer } from 'node:timers/promises'
import { StoreUnavailableError } from '../event-store/event-store.js'
import { ReadModelsUnavailableError } from '../read-models/read-models.js'

const firstDelayMs = 100
const maxDelayMs = 5_000

export interface RetryOptions {
  readonly signal: AbortSignal
  /** Told before each pause. */
  readonly onUnavailable: (error: Error, retryInMs: number) => void
}

/**
 * Does the work again, at growing distances, while a store is away; any other error is the caller's. `work` calls
 * `progressed` when it got on, so that the next failure starts with a short pause. Undefined when the signal aborts meanwhile.
 */
export async function retryWhileUnavailable<T>(
  work: (progressed: () => void) => Promise<T>,
  { signal, onUnavailable }: RetryOptions,
): Promise<T | undefined> {
  let delayMs = firstDelayMs
  const progressed = () => {
    delayMs = firstDelayMs
  }
  while (!signal.aborted) {
    try {
      return await work(progressed)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError || error instanceof ReadModelsUnavailableError)) throw error
      onUnavailable(error, delayMs)
      await pause(delayMs, signal)
      delayMs = Math.min(delayMs * 2, maxDelayMs)
    }
  }
  return undefined
}

/** Returns early, without an error, when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await timer(ms, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
