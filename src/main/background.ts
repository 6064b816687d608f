import { setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { EventLogHandle } from '@transferd/event-log'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { EventStore } from '../event-store/event-store.js'
import { type Clock, systemClock } from '../kernel/time.js'
import type { BackgroundRole, Configuration } from '../operations/configuration/configuration.js'
import { createLogger } from '../operations/logging/logger.js'
import { backlogMetrics, type CollectedMetrics, restartMetrics } from '../operations/metrics.js'
import {
  attachEventStore,
  openCustomerKeys,
  openListsAndReceipts,
  protectedStore,
} from '../operations/stores/stores.js'
import type { ReadModels } from '../read-models/read-models.js'
import { createSecretBox, type KeyRing, type SecretBox } from '../security/secret-box.js'
import { retryWhileUnavailable } from '../subscriptions/retry.js'
import type { Part } from '../subscriptions/under-lease.js'
import { tracedStore } from '../tracing/tracing.js'
import { startTracing } from './start-tracing.js'

/** The start data of a thread that opens its own stores. */
export interface ThreadData {
  readonly configuration: Configuration
  readonly installationName: string
  readonly keyRing: KeyRing
  /** Transferred to the thread; undefined if each thread has its own connection. */
  readonly eventStore: EventLogHandle | undefined
}

export type ToBackground = { readonly kind: 'stop' } | { readonly kind: 'metrics' }
export type FromBackground =
  | { readonly kind: 'started' }
  /** The parts that only restart, as sentences. */
  | { readonly kind: 'alive'; readonly problems: readonly string[] }
  /** The response to 'metrics'. */
  | { readonly kind: 'metrics'; readonly metrics: CollectedMetrics }

/** The stores and tools that a background thread has opened for its role. */
export interface BackgroundThreadParts {
  readonly configuration: Configuration
  readonly installationName: string
  readonly keyRing: KeyRing
  /** The log without decrypted personal data. */
  readonly rawStore: EventStore
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly merchants: MerchantDirectory
  readonly keys: ReturnType<typeof openCustomerKeys>
  readonly box: SecretBox
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
}

type StartRole = (parts: BackgroundThreadParts) => Part

/**
 * Lower priorities than the main thread's, because requests take precedence on machines with few cores. Merchants wait for callbacks, so these
 * come before the read models.
 */
const niceness: { readonly [role in BackgroundRole]: number } = { callbacks: 5, projections: 10 }
const aliveEveryMs = 2_500

type Running = { readonly registry: Registry; problems(): readonly string[]; stop(): Promise<void> }

/** Runs the work of a role in this worker thread, until the main thread stops it. */
export async function runInBackground(role: BackgroundRole, startRole: StartRole): Promise<void> {
  if (!parentPort) throw new Error(`the role ${role} runs as a worker thread`)
  await run(parentPort, role, startRole, workerData as ThreadData)
}

async function run(port: MessagePort, role: BackgroundRole, startRole: StartRole, data: ThreadData): Promise<void> {
  // Only Linux has priorities per thread; on other systems this would slow down the whole process.
  if (process.platform === 'linux') setPriority(0, niceness[role])
  const send = (message: FromBackground) => port.postMessage(message)
  const stopping = new AbortController()
  const starting = start(role, startRole, data, stopping.signal)
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

async function start(
  role: BackgroundRole,
  startRole: StartRole,
  { configuration, installationName, keyRing, eventStore }: ThreadData,
  stopping: AbortSignal,
): Promise<Running> {
  const logger = createLogger(configuration.logLevel, role)
  const clock = systemClock()
  const rawStore = await attachEventStore(configuration.eventStore, eventStore)
  const stopTracing = await startTracing(configuration, logger)
  const box = createSecretBox(keyRing)
  const keys = openCustomerKeys(configuration, box)
  const clear = protectedStore(rawStore, box, keys)
  const store = configuration.traced ? tracedStore(clear) : clear
  const readModels = await openListsAndReceipts(configuration)
  const merchants = new MerchantDirectory(store, box, clock, (err) => logger.error({ err }, 'merchant directory'))
  await retryWhileUnavailable(() => merchants.start(), {
    signal: stopping,
    onUnavailable: (err, failures) => logger.warn({ err, failures }, 'the stores are unavailable'),
  })
  const registry = new Registry()
  // The threads share the stores of the pending work, so one of them measures it.
  if (role === 'projections' || !configuration.roles.has('projections'))
    backlogMetrics(registry, { store: rawStore, readModels, directory: merchants, clock })
  const stores = { rawStore, store, readModels, merchants, keys, box }
  const part = stopping.aborted
    ? undefined
    : startRole({ ...stores, configuration, installationName, keyRing, clock, logger, registry })
  const ends = () => part?.ends() ?? []
  restartMetrics(registry, ends)
  const stop = async () => {
    await part?.stop()
    await merchants.stop()
    await readModels.close()
    await store.close()
    await stopTracing()
  }
  return { registry, stop, problems: () => ends().flatMap(({ problem }) => problem ?? []) }
}
