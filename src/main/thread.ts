import { setPriority } from 'node:os'
import type { EventLogHandle } from '@transferd/event-log'
import { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import { systemClock } from '../kernel/time.js'
import type { BackgroundRole, Configuration } from '../operations/configuration/configuration.js'
import { createLogger } from '../operations/logging/logger.js'
import {
  attachEventStore,
  openCustomerKeys,
  openListsAndReceipts,
  protectedStore,
} from '../operations/stores/stores.js'
import { createSecretBox, type KeyRing } from '../security/secret-box.js'
import { tracedStore } from '../tracing/tracing.js'

/** The start data of a thread that opens its own stores. */
export interface ThreadData {
  readonly configuration: Configuration
  readonly installationName: string
  readonly keyRing: KeyRing
  /** Transferred to the thread; undefined if each thread has its own connection. */
  readonly eventStore: EventLogHandle | undefined
}

/**
 * Lower priorities than the main thread's, because requests take precedence on machines with few cores. Merchants wait for callbacks, so these
 * come before the read models and reads.
 */
const niceness: { readonly [thread in BackgroundRole | 'reader']: number } = {
  callbacks: 5,
  projections: 10,
  reader: 10,
}

export type OpenedThread = Awaited<ReturnType<typeof openThread>>

/** Lowers the priority of this thread and opens its stores. The directory of merchants is not started yet. @throws StoreUnavailableError */
export async function openThread(thread: keyof typeof niceness, data: ThreadData) {
  const { configuration, keyRing, eventStore } = data
  // Only Linux has priorities per thread; on other systems this would slow down the whole process.
  if (process.platform === 'linux') setPriority(0, niceness[thread])
  const logger = createLogger(configuration.logLevel, thread)
  const clock = systemClock()
  /** The log without decrypted personal data. */
  const rawStore = await attachEventStore(configuration.eventStore, eventStore)
  const box = createSecretBox(keyRing)
  const keys = openCustomerKeys(configuration, box)
  const clear = protectedStore(rawStore, box, keys)
  const store = configuration.traced ? tracedStore(clear) : clear
  const readModels = await openListsAndReceipts(configuration)
  const merchants = new MerchantDirectory(store, box, clock, (err) => logger.error({ err }, 'merchant directory'))
  const close = async () => {
    await merchants.stop()
    await readModels.close()
    await store.close()
  }
  return { logger, clock, rawStore, box, keys, store, readModels, merchants, close }
}
