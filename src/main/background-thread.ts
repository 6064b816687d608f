import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { type Transferable, Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { BackgroundData, FromBackground, ToBackground } from './background.js'

const firstRestartMs = 500
const maxRestartMs = 30_000
/** Having run this long, it counts as well again. */
const wellAfterMs = 60_000
const maxCrashes = 10
/** Without a sign of life for so long it is reported as not ready. */
const silenceMs = 10_000
/** A turn of projections that are far behind takes most of a second, and Prometheus waits for ten. */
const metricsWithinMs = 5_000
/**
 * The larger a heap may grow, the longer V8 puts off collecting: without a limit of its own the thread holds four times what it needs on a machine with
 * memory to spare. Ten million events are projected with 130 MiB of heap under this one, at the same cost, and with 250 and more without.
 */
const maxHeapMiB = 1_024

export interface BackgroundThread {
  /** Undefined while it works; otherwise what is wrong, as a sentence. */
  problem(): string | undefined
  /** Its metrics in the text format of Prometheus; empty while it cannot tell. */
  metrics(): Promise<string>
  /** Lets it finish what it is doing, then ends it. */
  stop(): Promise<void>
}

export interface BackgroundThreadOptions {
  /** What the thread starts with, made for each start, and what of it is transferred. */
  readonly data: () => { readonly data: BackgroundData; readonly transfer: readonly Transferable[] }
  readonly logger: Logger
  /** Called once, when it died too often to be started again. */
  readonly onGivenUp: (reason: Error) => void
}

/** Runs projections, callbacks and expiry in a thread of their own, and starts it again, later each time, when it dies. */
export function startBackgroundThread({ data, logger, onGivenUp }: BackgroundThreadOptions): BackgroundThread {
  const stopping = new AbortController()
  let worker: Worker | undefined
  let lastSignAtMs = performance.now()
  let problem: string | undefined = 'the background thread is starting'

  const runOnce = async (): Promise<Error | undefined> => {
    const { data: workerData, transfer } = data()
    const running = new Worker(new URL('./background.js', import.meta.url), {
      workerData,
      transferList: [...transfer],
      name: 'background',
      resourceLimits: { maxOldGenerationSizeMb: Math.min(maxHeapMiB, getHeapStatistics().heap_size_limit / 2 ** 20) },
    })
    worker = running
    let failure: Error | undefined
    running.on('message', (message: FromBackground) => {
      lastSignAtMs = performance.now()
      if (message.kind === 'started') problem = undefined
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
        if (failure) logger.error({ err: failure }, 'the background thread failed while it was being stopped')
        return
      }
      crashes = performance.now() - startedAtMs > wellAfterMs ? 1 : crashes + 1
      problem = 'the background thread died and is being started again'
      logger.error({ err: failure, crashes }, problem)
      if (crashes >= maxCrashes) {
        onGivenUp(new Error(`the background thread died ${crashes} times in a row`, { cause: failure }))
        return
      }
      const delayMs = Math.min(maxRestartMs, firstRestartMs * 2 ** (crashes - 1))
      await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const supervised = supervise()

  return {
    problem() {
      if (problem) return problem
      return performance.now() - lastSignAtMs > silenceMs ? 'the background thread gives no sign of life' : undefined
    },
    metrics: () => (worker && !problem ? askForMetrics(worker) : Promise.resolve('')),
    async stop() {
      stopping.abort()
      worker?.postMessage({ kind: 'stop' } satisfies ToBackground)
      await supervised
    },
  }
}

async function askForMetrics(worker: Worker): Promise<string> {
  const answered = new AbortController()
  const answer = new Promise<string>((resolve) => {
    const onMessage = (message: FromBackground) => {
      if (message.kind === 'metrics') resolve(message.text)
    }
    worker.on('message', onMessage)
    answered.signal.addEventListener('abort', () => worker.off('message', onMessage))
  })
  worker.postMessage({ kind: 'metrics' } satisfies ToBackground)
  const late = sleep(metricsWithinMs, '', { signal: answered.signal }).catch(() => '')
  const text = await Promise.race([answer, late])
  answered.abort()
  return text
}
