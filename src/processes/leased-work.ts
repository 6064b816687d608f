import type { Logger } from 'pino'
import { runWithLease } from '../read-models/leases.js'
import type { ReadModels } from '../read-models/read-models.js'
import { pause } from '../subscriptions/retry.js'

const againAfterMs = 1_000

/** Work that goes on until its signal aborts, in the one process that holds the lease of this name. A failure is logged, and it begins again. */
export function startLeasedWork(
  { readModels, logger }: { readonly readModels: ReadModels; readonly logger: Logger },
  name: string,
  work: (signal: AbortSignal) => Promise<void>,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    while (!signal.aborted) {
      try {
        await runWithLease(readModels, name, { signal }, (lease) => work(lease.signal))
      } catch (error) {
        logger.error({ err: error }, `${name} ended; it begins again`)
        await pause(againAfterMs, signal)
      }
    }
  }
  const ended = run()
  return {
    stop: async () => {
      stopping.abort()
      await ended
    },
  }
}
