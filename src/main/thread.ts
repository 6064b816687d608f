import { setPriority } from 'node:os'
import type { EventLogHandle } from '@transferd/event-log'
import type { Logger } from 'pino'
import { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { EventStore } from '../event-store/event-store.js'
import { type Clock, systemClock } from '../kernel/time.js'
import type { BackgroundRole, Configuration } from '../operations/configuration/configuration.js'
import { createLogger } from '../operations/logging/logger.js'
import { attachEventStore, openKeyStore, openListsAndReceipts, protectedStore } from '../operations/stores/stores.js'
import { CustomerKeys, type KeyStore } from '../privacy/customer-keys.js'
import type { ReadModels } from '../read-models/read-models.js'
import { createSecretBox, type KeyRing, type SecretBox } from '../security/secret-box.js'
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

export type OpenedThread = ReturnType<typeof composeThread>

/** Lowers the priority of this thread and opens its stores. The directory of merchants is not started yet. @throws StoreUnavailableError */
export async function openThread(thread: keyof typeof niceness, data: ThreadData) {
  const { configuration, keyRing, eventStore } = data
  // Only Linux has priorities per thread; on other systems this would slow down the whole process.
  if (process.platform === 'linux') setPriority(0, niceness[thread])
  const rawStore = await attachEventStore(configuration.eventStore, eventStore)
  const readModels = await openListsAndReceipts(configuration)
  return composeThread(configuration, {
    rawStore,
    readModels,
    keyStore: openKeyStore(configuration),
    box: createSecretBox(keyRing),
    logger: createLogger(configuration.logLevel, thread),
    clock: systemClock(),
  })
}

interface ThreadStores {
  /** The log without decrypted personal data. */
  readonly rawStore: EventStore
  readonly readModels: ReadModels
  readonly keyStore: KeyStore
  readonly box: SecretBox
  readonly logger: Logger
  readonly clock: Clock
}

/** Composes what the work of a thread shares. `close` closes the stores too. */
export function composeThread(configuration: Configuration, opened: ThreadStores) {
  const { rawStore, readModels, keyStore, box, logger, clock } = opened
  const keys = new CustomerKeys(keyStore, box)
  const clear = protectedStore(rawStore, box, keys)
  const store = configuration.traced ? tracedStore(clear) : clear
  const merchants = new MerchantDirectory(store, box, clock, (err) => logger.error({ err }, 'merchant directory'))
  const close = async () => {
    await merchants.stop()
    await readModels.close()
    await store.close()
  }
  return { logger, clock, rawStore, box, keys, store, readModels, merchants, close }
}
