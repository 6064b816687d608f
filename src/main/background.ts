import { setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { EventLogHandle } from '@transferd/event-log'
import { Registry } from 'prom-client'
import { callbackMetrics } from '../callbacks/callback-metrics.js'
import { defaultCallbackTiming } from '../callbacks/callback-timing.js'
import { startCallbacks } from '../callbacks/callbacks.js'
import { createHostResolver } from '../callbacks/deliver/endpoint-connection.js'
import { CallbackCommands } from '../commands/callback/callback-commands.js'
import { callbackNetworks } from '../commands/merchant/callback-networks.js'
import { MerchantCommands } from '../commands/merchant/merchant-commands.js'
import { isInSandbox, MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import { TransferCommands } from '../commands/transfer/transfers.js'
import { systemClock } from '../kernel/time.js'
import { startAuditTree } from '../operations/audit/audit-tree.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import { createLogger } from '../operations/logging/logger.js'
import { backlogMetrics, restartMetrics } from '../operations/metrics.js'
import {
  attachEventStore,
  openCustomerKeys,
  openListsAndReceipts,
  protectedStore,
} from '../operations/stores/stores.js'
import { startFinishingErasures } from '../privacy/customer-erasure.js'
import { startExpiry } from '../processes/deposit-expiry.js'
import { startPaymentRecovery } from '../processes/payment-recovery.js'
import { startListingStreams } from '../processes/stream-lister.js'
import { startProjections } from '../projections/start-projections.js'
import { createSecretBox, type KeyRing } from '../security/secret-box.js'
import { retryWhileUnavailable } from '../subscriptions/retry.js'
import { tracedStore } from '../tracing/tracing.js'
import { WalletCollections } from '../wallet/payments/collections.js'
import { withTestCustomer } from '../wallet/test-customer.js'
import { createWallet } from './compose-wallet.js'
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
  /** The response to 'metrics', in the Prometheus text format. */
  | { readonly kind: 'metrics'; readonly text: string }

/** Lower than the main thread's, because requests take precedence over background work on machines with few cores. */
const niceness = 5
const aliveEveryMs = 2_500

type Running = { readonly registry: Registry; problems(): readonly string[]; stop(): Promise<void> }

async function run(port: MessagePort, data: ThreadData): Promise<void> {
  // Only Linux has priorities per thread; on other systems this would slow down the whole process.
  if (process.platform === 'linux') setPriority(0, niceness)
  const send = (message: FromBackground) => port.postMessage(message)
  const stopping = new AbortController()
  const starting = start(data, stopping.signal)
  // Also during the start, which takes as long as a store is unavailable.
  port.on('message', async (message: ToBackground) => {
    switch (message.kind) {
      case 'metrics':
        return send({ kind: 'metrics', text: await (await starting).registry.metrics() })
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

async function start(data: ThreadData, stopping: AbortSignal): Promise<Running> {
  const { configuration, installationName, keyRing, eventStore } = data
  const logger = createLogger(configuration.logLevel, 'background')
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
  const settingsOf = async (merchantId: string) => merchants.settingsOf(merchantId)
  const transfers = new TransferCommands(store, clock, settingsOf)
  const registry = new Registry()
  backlogMetrics(registry, { store: rawStore, readModels, directory: merchants, clock })
  const wallet = () => {
    const parts = { configuration, installationName, eventStore: store, readModels, box, clock }
    const { wallet } = createWallet({ ...parts, isSandbox: () => isInSandbox(configuration, merchants) })
    // This thread sends no messages to customers.
    return withTestCustomer(wallet, () => undefined)
  }
  const runProjections = () => [
    startProjections({ store, readModels, clock, logger }),
    startFinishingErasures({ store, raw: rawStore, keys, box, readModels, transfers, clock, logger }),
    // Runs in this thread because it needs the read model of transfers.
    startExpiry({ readModels, transfers, clock, logger }),
    startListingStreams({ store, readModels, clock, logger }),
    startPaymentRecovery({
      store,
      readModels,
      payments: new WalletCollections({ store, wallet: wallet(), transfers, settingsOf, clock }),
      clock,
      logger,
      // The time that a request may still wait for a response of the wallet.
      graceMs: 15_000 + (configuration.wallet.engine === 'http' ? 2 * configuration.wallet.timeoutMs : 0),
    }),
  ]
  const runCallbacks = () => [
    startCallbacks({
      store,
      readModels,
      merchants,
      commands: new CallbackCommands(store, clock),
      merchantCommands: new MerchantCommands(store, clock, box),
      resolve: createHostResolver(),
      networks: callbackNetworks(configuration, merchants),
      clock,
      random: Math.random,
      metrics: callbackMetrics(registry),
      logger,
      timing: { ...defaultCallbackTiming, attemptTimeoutMs: configuration.callbackTimeoutMs },
    }),
  ]
  const { roles } = configuration
  const parts = [
    ...(roles.has('projections') && !stopping.aborted ? runProjections() : []),
    ...(roles.has('callbacks') && !stopping.aborted ? runCallbacks() : []),
  ]
  const treeParts = {
    configuration,
    rawStore,
    store,
    readModels,
    keys: keys.store,
    box,
    keyRing,
    clock,
    logger,
    registry,
  }
  const tree = roles.has('projections') && !stopping.aborted ? startAuditTree(treeParts) : undefined
  const stop = async () => {
    await Promise.all(parts.map((part) => part.stop()))
    // Stops last, so that it also seals the events that the others append while they stop.
    await tree?.stop()
    await merchants.stop()
    await readModels.close()
    await store.close()
    await stopTracing()
  }
  const ends = () => [...parts, ...(tree ? [tree] : [])].flatMap((part) => part.ends())
  restartMetrics(registry, ends)
  return { registry, stop, problems: () => ends().flatMap(({ problem }) => problem ?? []) }
}

if (!parentPort) throw new Error('background.js runs as a worker thread')
await run(parentPort, workerData as ThreadData)
