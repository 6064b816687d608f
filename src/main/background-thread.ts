import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { type Transferable, Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { BackgroundRole } from '../operations/configuration/configuration.js'
import type { CollectedMetrics } from '../operations/metrics.js'
import type { FromBackground, ToBackground } from './background.js'
import type { ThreadData } from './thread.js'

const firstRestartMs = 500
const maxRestartMs = 30_000
/** After this time without a crash, the crash count restarts at zero. */
const stableAfterMs = 60_000
const maxCrashes = 10
/** After this time without a heartbeat, the thread is reported as not ready. */
const silenceMs = 10_000
/** A batch of projections that lag far behind takes almost a second, and Prometheus waits ten seconds. */
const metricsWithinMs = 5_000
/**
 * V8 collects garbage later if the heap may grow larger. Without a separate limit, the thread uses four times the memory it needs on a
 * machine with free memory. With this limit, projecting ten million events takes 130 MiB of heap, without it at least 250, equally fast.
 */
const maxHeapMiB = 1_024

export type BackgroundThread = ReturnType<typeof startBackgroundThread>

interface BackgroundThreadOptions {
  readonly role: BackgroundRole
  /** Creates the data for each start of the thread, and the list of objects to transfer. */
  readonly data: () => { readonly data: ThreadData; readonly transfer: readonly Transferable[] }
  readonly logger: Logger
  /** Called once, when the thread has crashed too often to be restarted. */
  readonly onGivenUp: (reason: Error) => void
}

/** Runs the background work of a role in a separate thread. Restarts it after a crash, with an increasing delay. */
export function startBackgroundThread({ role, data, logger, onGivenUp }: BackgroundThreadOptions) {
  const thread = `the ${role} thread`
  const stopping = new AbortController()
  let worker: Worker | undefined
  let lastSignAtMs = performance.now()
  let problem: string | undefined = `${thread} is starting`
  let partProblems: readonly string[] = []

  const runOnce = async (): Promise<Error | undefined> => {
    const { data: workerData, transfer } = data()
    const running = new Worker(new URL(`./${role}.js`, import.meta.url), {
      workerData,
      transferList: [...transfer],
      name: role,
      resourceLimits: { maxOldGenerationSizeMb: Math.min(maxHeapMiB, getHeapStatistics().heap_size_limit / 2 ** 20) },
    })
    worker = running
    let failure: Error | undefined
    running.on('message', (message: FromBackground) => {
      lastSignAtMs = performance.now()
      if (message.kind === 'started') problem = undefined
      if (message.kind === 'alive') partProblems = message.problems
    })
    running.on('error', (error: Error) => {
      failure = error
    })
    const code = await new Promise<number>((resolve) => running.once('exit', resolve))
    worker = undefined
    return failure ?? (stopping.signal.aborted ? undefined : new Error(`it ended with code ${code}`))
  }

  const supervise = async () => {
    let crashes = 0
    while (!stopping.signal.aborted) {
      const startedAtMs = performance.now()
      const failure = await runOnce()
      if (stopping.signal.aborted) {
        if (failure) logger.error({ err: failure }, `${thread} failed while it was being stopped`)
        return
      }
      crashes = performance.now() - startedAtMs > stableAfterMs ? 1 : crashes + 1
      problem = `${thread} died and is being restarted`
      logger.error({ err: failure, crashes }, problem)
      if (crashes >= maxCrashes) {
        onGivenUp(new Error(`${thread} died ${crashes} times in a row`, { cause: failure }))
        return
      }
      const delayMs = Math.min(maxRestartMs, firstRestartMs * 2 ** (crashes - 1))
      await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const supervised = supervise()

  return {
    /** Returns the problems as sentences, or none while the thread works. */
    problems(): readonly string[] {
      if (problem) return [problem]
      const isSilent = performance.now() - lastSignAtMs > silenceMs
      return isSilent ? [`${thread} does not respond`] : partProblems
    },
    /** Returns the thread's metrics; none while the thread does not respond. */
    metrics: (): Promise<CollectedMetrics> => (worker && !problem ? requestMetrics(worker) : Promise.resolve([])),
    /** Stops the thread after it has finished its current work. */
    async stop() {
      stopping.abort()
      worker?.postMessage({ kind: 'stop' } satisfies ToBackground)
      await supervised
    },
  }
}

async function requestMetrics(worker: Worker): Promise<CollectedMetrics> {
  const received = new AbortController()
  const response = new Promise<CollectedMetrics>((resolve) => {
    const onMessage = (message: FromBackground) => {
      if (message.kind === 'metrics') resolve(message.metrics)
    }
    worker.on('message', onMessage)
    received.signal.addEventListener('abort', () => worker.off('message', onMessage))
  })
  worker.postMessage({ kind: 'metrics' } satisfies ToBackground)
  const late = sleep(metricsWithinMs, [], { signal: received.signal }).catch(() => [])
  const metrics = await Promise.race([response, late])
  received.abort()
  return metrics
}
