import { once } from 'node:events'
import { setPriority } from 'node:os'
import { type MessagePort, workerData } from 'node:worker_threads'
import { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import { systemClock } from '../kernel/time.js'
import { createLogger } from '../operations/logging/logger.js'
import {
  attachEventStore,
  openCustomerKeys,
  openListsAndReceipts,
  protectedStore,
} from '../operations/stores/stores.js'
import { serveReads } from '../readers/reader-server.js'
import { createSecretBox } from '../security/secret-box.js'
import type { ThreadData } from './background.js'

/** Lower than that of the background threads (5), one of which records and delivers callbacks. */
const niceness = 10

/** Serves reads on its own connections. Throws if a store is unavailable: the reads fail, and the next one tries again. */
async function run({ configuration, keyRing, eventStore, port }: ThreadData & { readonly port: MessagePort }) {
  // Only Linux has priorities per thread; on other systems this would slow down the whole process.
  if (process.platform === 'linux') setPriority(0, niceness)
  const closed = once(port, 'close')
  const logger = createLogger(configuration.logLevel, 'reader')
  const box = createSecretBox(keyRing)
  const attached = await attachEventStore(configuration.eventStore, eventStore)
  const store = protectedStore(attached, box, openCustomerKeys(configuration, box))
  const readModels = await openListsAndReceipts(configuration)
  const merchants = new MerchantDirectory(store, box, systemClock(), (err) =>
    logger.error({ err }, 'merchant directory'),
  )
  await merchants.start()
  serveReads(port, { store, readModels, merchants })
  await closed
  await merchants.stop()
  await readModels.close()
  await store.close()
}

await run(workerData)
