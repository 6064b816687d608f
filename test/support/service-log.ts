import { join } from 'node:path'
import { openEventLog } from '@transferd/event-log'
import type { EventStore } from '../../src/event-store/event-store.js'
import { type Configuration, readConfiguration } from '../../src/operations/configuration/configuration.js'
import { masterKeysOf } from '../../src/operations/keys/key-ring.js'
import { openLog, openLogOver } from '../../src/operations/stores/stores.js'
import { openTestKeyStore } from './key-store.js'

/**
 * Opens a log like `openLog`, with all its errors. An embedded log has no threads to write the log and the keys, whose start would cost a
 * tenth of a second of processor time.
 */
export async function openTestLog(configuration: Configuration) {
  const { eventStore, keyStore } = configuration
  if (eventStore.engine !== 'embedded' || keyStore.engine !== 'embedded') return openLog(configuration)
  const { keys, notices } = await masterKeysOf(configuration)
  const log = await openEventLog({ ...eventStore, writerThread: false })
  const opened = await openLogOver(log, configuration, keys, openTestKeyStore(keyStore.directory))
  return { ...opened, shareEventStore: () => log.share(), notices }
}

/** Opens the log of a service with its data in `<directory>/data`, including its personal data. */
export async function openServiceLog(directory: string, environment: NodeJS.ProcessEnv = {}): Promise<EventStore> {
  const data = join(directory, 'data')
  const stores = { EVENT_STORE_URL: `embedded:${data}`, READ_MODEL_URL: `embedded:${data}`, DATA_DIRECTORY: data }
  const { eventStore, close } = await openTestLog(readConfiguration({ ...stores, ...environment }))
  return { ...eventStore, close }
}
