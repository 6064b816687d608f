import type { Logger } from 'pino'
import { type Lease, runWithLease } from '../read-models/leases.js'
import type { ReadModels } from '../read-models/read-models.js'
import { pause, type RetryOptions } from './retry.js'

const restartAfterMs = 1_000

export interface Part {
  stop(): Promise<void>
}

/**
 * Runs the part while this process holds the lease of this name. Logs any error and restarts. `retry` stops when the lease ends and
 * logs each failure of a store. `stopping` aborts when the part is stopped, but not when the lease is lost.
 */
export function startUnderLease(
  { readModels, logger }: { readonly readModels: ReadModels; readonly logger: Logger },
  name: string,
  run: (lease: Lease, retry: RetryOptions, stopping: AbortSignal) => Promise<void>,
): Part {
  const stopping = new AbortController()
  const { signal } = stopping
  const onUnavailable = (err: Error, failures: number) => logger.warn({ err, failures }, 'a store is unavailable')
  const runAgain = async () => {
    while (!signal.aborted) {
      try {
        await runWithLease(readModels, name, { signal }, (lease) =>
          run(lease, { signal: lease.signal, onUnavailable }, signal),
        )
      } catch (error) {
        logger.error({ err: error }, `${name}: ended unexpectedly, restarting`)
        await pause(restartAfterMs, signal)
      }
    }
  }
  const ended = runAgain()
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
