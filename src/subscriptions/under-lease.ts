import type { Logger } from 'pino'
import { type Lease, runWithLease } from '../read-models/leases.js'
import type { ReadModels } from '../read-models/read-models.js'
import { pause } from './retry.js'

const restartAfterMs = 1_000

export interface Part {
  /** Resolves when the part has stopped completely. */
  stop(): Promise<void>
}

/** Runs the part while this process holds the lease of this name. Logs any error and restarts. */
export function startUnderLease(
  { readModels, logger }: { readonly readModels: ReadModels; readonly logger: Logger },
  name: string,
  run: (lease: Lease) => Promise<void>,
): Part {
  const stopping = new AbortController()
  const { signal } = stopping
  const runAgain = async () => {
    while (!signal.aborted) {
      try {
        await runWithLease(readModels, name, { signal }, run)
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
