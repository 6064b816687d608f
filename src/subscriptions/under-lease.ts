import type { Logger } from 'pino'
import { type Lease, runWithLease } from '../read-models/leases.js'
import type { ReadModels } from '../read-models/read-models.js'
import { isUnavailable, pause, type RetryOptions } from './retry.js'

const restartAfterMs = 1_000
/** A part that ends unexpectedly this many times within a minute does not do its work, until a minute without another end. */
const maxEndsPerMinute = 3
const minuteMs = 60_000

export interface Part {
  /** Returns how often each part of the work has ended unexpectedly, and the parts that only restart as sentences. */
  ends(): readonly PartEnds[]
  stop(): Promise<void>
}

export interface PartEnds {
  /** The name of its lease. */
  readonly name: string
  readonly count: number
  /** A sentence while the part only restarts. */
  readonly problem: string | undefined
}

/**
 * Runs the part while this process holds the lease of this name. Logs any error and restarts. `retry` stops when the lease ends, and
 * logs and counts each failure that is retried. `stopping` aborts when the part is stopped, but not when the lease is lost.
 */
export function startUnderLease(
  { readModels, logger }: { readonly readModels: ReadModels; readonly logger: Logger },
  name: string,
  run: (lease: Lease, retry: RetryOptions, stopping: AbortSignal) => Promise<void>,
  monotonicMs = () => performance.now(),
): Part {
  const stopping = new AbortController()
  const { signal } = stopping
  let count = 0
  /** The times of the unexpected ends of the last minute, oldest first. */
  let endedAtMs: number[] = []
  let restartsUntilMs = Number.NEGATIVE_INFINITY
  const noteEnd = (err: unknown) => {
    logger.error({ err }, `${name}: ended unexpectedly, restarting`)
    if (isUnavailable(err)) return
    const nowMs = monotonicMs()
    count++
    endedAtMs = [...endedAtMs.filter((each) => nowMs - each < minuteMs), nowMs]
    if (endedAtMs.length >= maxEndsPerMinute || nowMs < restartsUntilMs) restartsUntilMs = nowMs + minuteMs
  }
  const onUnavailable = (err: Error, failures: number) => {
    // Some work is retried after any failure. To the merchant who waits for it, that is the same as a restart.
    if (isUnavailable(err)) logger.warn({ err, failures }, 'a store is unavailable')
    else noteEnd(err)
  }
  const runAgain = async () => {
    while (!signal.aborted) {
      try {
        await runWithLease(readModels, name, { signal }, (lease) =>
          run(lease, { signal: lease.signal, onUnavailable }, signal),
        )
      } catch (error) {
        noteEnd(error)
        await pause(restartAfterMs, signal)
      }
    }
  }
  const ended = runAgain()
  return {
    ends() {
      const problem = `the background work ${name} only restarts: it ended unexpectedly ${endedAtMs.length} times within a minute (see the log)`
      return [{ name, count, problem: monotonicMs() < restartsUntilMs ? problem : undefined }]
    },
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
