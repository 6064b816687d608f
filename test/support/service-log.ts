import { join } from 'node:path'
import type { EventStore } from '../../src/event-store/event-store.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openLog } from '../../src/operations/stores/stores.js'

/** Opens the log of a service with its data in `<directory>/data`, including its personal data. */
export async function openServiceLog(directory: string, environment: NodeJS.ProcessEnv = {}): Promise<EventStore> {
  const data = join(directory, 'data')
  const stores = { EVENT_STORE_URL: `embedded:${data}`, READ_MODEL_URL: `embedded:${data}`, DATA_DIRECTORY: data }
  const { eventStore, close } = await openLog(readConfiguration({ ...stores, ...environment }))
  return { ...eventStore, close }
}
