import type { Logger } from 'pino'
import { type Lease, runWithLease } from '../read-models/leases.js'
import type { ReadModels } from '../read-models/read-models.js'
import { pause } from './retry.js'

const againAfterMs = 1_000

export interface Part {
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>
}

/** Runs wherever the lease of this name is held, in one process at a time. What it throws is logged, and it begins again. */
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
        logger.error({ err: error }, `${name}: ended unexpectedly, beginning again`)
        await pause(againAfterMs, signal)
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
