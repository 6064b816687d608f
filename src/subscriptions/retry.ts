import { setTimeout as timer } from 'node:timers/promises'
import pRetry from 'p-retry'
import { StoreUnavailableError } from '../event-store/event-store.js'
import { ReadModelsUnavailableError } from '../read-models/read-models.js'

export interface RetryOptions {
  readonly signal: AbortSignal
  /** Receives each failure that is retried, counted from 1. */
  readonly onUnavailable: (error: Error, failures: number) => void
  /** Selects the errors that are retried; defaults to those of an unavailable store. */
  readonly isRetried?: (error: unknown) => boolean
}

/** Retries `attempt` with a back-off of 100 ms to 5 s until it succeeds. Returns `undefined` if the signal aborts first. */
export async function retryWhileUnavailable<T>(
  attempt: () => Promise<T>,
  { signal, onUnavailable, isRetried = isUnavailable }: RetryOptions,
): Promise<T | undefined> {
  const attempted = async () => {
    try {
      return await attempt()
    } catch (error) {
      // p-retry never retries a TypeError; here `isRetried` decides.
      throw error instanceof TypeError && isRetried(error) ? new Error(error.message, { cause: error }) : error
    }
  }
  if (signal.aborted) return undefined
  try {
    return await pRetry(attempted, {
      signal,
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 100,
      maxTimeout: 5_000,
      shouldRetry: ({ error }) => isRetried(error),
      onFailedAttempt: ({ error, attemptNumber }) => {
        if (isRetried(error) && !signal.aborted) onUnavailable(error, attemptNumber)
      },
    })
  } catch (error) {
    if (signal.aborted && error === signal.reason) return undefined
    throw error
  }
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof StoreUnavailableError || error instanceof ReadModelsUnavailableError
}

/** Waits, but returns early and without an error if the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await timer(ms, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
