import { existsSync, mkdirSync } from 'node:fs'
import { type EmbeddedEventStore, openEmbeddedEventStore } from '../event-store/embedded/embedded-event-store.js'
import { logPath } from '../event-store/embedded/log-file.js'
import type { ReadModels } from '../read-models/read-models.js'
import { createSecretBox, type SecretBox } from '../security/secret-box.js'
import type { Configuration } from './configuration.js'
import { loadMasterKey } from './master-key.js'
import { openReadModels } from './open-read-models.js'

export interface Stores {
  readonly eventStore: EmbeddedEventStore
  readonly readModels: ReadModels
  readonly box: SecretBox
  readonly masterKey: Buffer
  /** What the operator should be told about the files. */
  readonly notices: readonly string[]
  close(): Promise<void>
}

/** There is no log where the configuration says. */
export class NoLogError extends Error {
  override readonly name = 'NoLogError'
}

/** @throws NoLogError unless the log was begun */
export function requireLog({ eventStoreDirectory }: Configuration): void {
  if (existsSync(logPath(eventStoreDirectory))) return
  throw new NoLogError(
    `there is no log in ${eventStoreDirectory}: run this in the service's directory, or with its environment`,
  )
}

/** Opens both stores and the master key, making what is not there yet. Other processes may have them open as well. */
export async function openStores(configuration: Configuration): Promise<Stores> {
  const { eventStoreDirectory } = configuration
  // Before the log exists: a log without its key cannot be told from a lost key.
  const { key, notices } = configuration.masterKey
    ? { key: configuration.masterKey, notices: [] }
    : loadMasterKey(eventStoreDirectory)
  mkdirSync(eventStoreDirectory, { recursive: true, mode: 0o700 })
  const eventStore = await openEmbeddedEventStore({ directory: eventStoreDirectory })
  try {
    const readModels = await openReadModels(configuration.readModels)
    try {
      // A wrong address or password is better told now than as a list that never fills.
      await readModels.listCollections()
    } catch (error) {
      await readModels.close()
      throw error
    }
    const close = async () => {
      await readModels.close()
      await eventStore.close()
    }
    return { eventStore, readModels, box: createSecretBox(key), masterKey: key, notices, close }
  } catch (error) {
    await eventStore.close()
    throw error
  }
}
