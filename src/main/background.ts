import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Registry } from 'prom-client'
import type { RunVerification } from '../audit/integrity/log-verification.js'
import type { BackgroundRole } from '../operations/configuration/configuration.js'
import { backlogMetrics, type CollectedMetrics, restartMetrics } from '../operations/metrics.js'
import { retryWhileUnavailable } from '../subscriptions/retry.js'
import type { Part } from '../subscriptions/under-lease.js'
import type { Wallet } from '../wallet/wallet.js'
import { startTracing } from './start-tracing.js'
import { type OpenedThread, openThread, type ThreadData } from './thread.js'

export type ToBackground = { readonly kind: 'stop' } | { readonly kind: 'metrics' }
export type FromBackground =
  | { readonly kind: 'started' }
  /** The parts that only restart, as sentences. */
  | { readonly kind: 'alive'; readonly problems: readonly string[] }
  /** The response to 'metrics'. */
  | { readonly kind: 'metrics'; readonly metrics: CollectedMetrics }

/** The stores and tools that a background thread has opened for its role. */
export interface BackgroundParts extends OpenedThread, Omit<ThreadData, 'eventStore'> {
  readonly registry: Registry
  readonly verify?: RunVerification
  /** The configured wallet by default. */
  readonly wallet?: Wallet
}

type StartWork = (parts: BackgroundParts) => Part

const aliveEveryMs = 2_500

type Running = { readonly registry: Registry; problems(): readonly string[]; stop(): Promise<void> }

/** Runs the work of a role in this worker thread, until the main thread stops it. */
export async function runInBackground(role: BackgroundRole, startWork: StartWork): Promise<void> {
  if (!parentPort) throw new Error(`the role ${role} runs as a worker thread`)
  await run(parentPort, role, startWork, workerData as ThreadData)
}

async function run(port: MessagePort, role: BackgroundRole, startWork: StartWork, data: ThreadData): Promise<void> {
  const send = (message: FromBackground) => port.postMessage(message)
  const stopping = new AbortController()
  const starting = openThread(role, data).then(async (opened) => {
    const stopTracing = await startTracing(data.configuration, opened.logger)
    const running = await startRole(role, startWork, { ...data, ...opened }, stopping.signal)
    return {
      ...running,
      stop: async () => {
        await running.stop()
        await stopTracing()
      },
    }
  })
  // Also during the start, which takes as long as a store is unavailable.
  port.on('message', async (message: ToBackground) => {
    switch (message.kind) {
      case 'metrics':
        return send({ kind: 'metrics', metrics: await (await starting).registry.getMetricsAsJSON() })
      case 'stop':
        stopping.abort()
        await (await starting).stop()
        clearInterval(alive)
        return port.close()
      default:
        return message satisfies never
    }
  })
  let running: Running | undefined
  const alive = setInterval(() => send({ kind: 'alive', problems: running?.problems() ?? [] }), aliveEveryMs)
  running = await starting
  send({ kind: 'started' })
}

/** Starts the directory of merchants and the work of a role. `stop` also closes the stores. */
export async function startRole(
  role: BackgroundRole,
  startWork: StartWork,
  thread: Omit<BackgroundParts, 'registry'>,
  stopping: AbortSignal,
): Promise<Running> {
  const { configuration, rawStore, readModels, merchants, clock, logger } = thread
  await retryWhileUnavailable(() => merchants.start(), {
    signal: stopping,
    onUnavailable: (err, failures) => logger.warn({ err, failures }, 'the stores are unavailable'),
  })
  const registry = new Registry()
  // The threads share the stores of the pending work, so one of them measures it.
  if (role === 'projections' || !configuration.roles.has('projections'))
    backlogMetrics(registry, { store: rawStore, readModels, directory: merchants, clock })
  const part = stopping.aborted ? undefined : startWork({ ...thread, registry })
  const ends = () => part?.ends() ?? []
  restartMetrics(registry, ends)
  const stop = async () => {
    await part?.stop()
    await thread.close()
  }
  return { registry, stop, problems: () => ends().flatMap(({ problem }) => problem ?? []) }
}
