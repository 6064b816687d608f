import { existsSync, mkdirSync } from 'node:fs'
import { logPath } from '@transferd/event-log'
import type { EventStoreHandle } from '../event-store/embedded.js'
import type { EventStore } from '../event-store/event-store.js'
import { passingOver } from '../event-store/passing-over.js'
import type { ReadModels } from '../read-models/read-models.js'
import { createSecretBox, type SecretBox } from '../security/secret-box.js'
import type { Configuration } from './configuration.js'
import { loadMasterKey, requireMasterKey } from './master-key.js'
import { openEventStore } from './open-event-store.js'
import { openReadModels } from './open-read-models.js'

/** The log, and the key of what is sealed in it. */
export interface OpenedLog {
  readonly eventStore: EventStore
  /** For the background thread; undefined where it makes a connection of its own. */
  readonly shareEventStore: () => EventStoreHandle | undefined
  readonly box: SecretBox
  readonly masterKey: Buffer
  /** What the operator should be told about the files. */
  readonly notices: readonly string[]
  close(): Promise<void>
}

export interface Stores extends OpenedLog {
  readonly readModels: ReadModels
}

/** There is no log where the configuration says. */
export class NoLogError extends Error {
  override readonly name = 'NoLogError'
}

/** A log on a server is there when the server is. @throws NoLogError unless the log was begun */
export function requireLog({ eventStore }: Configuration): void {
  if (eventStore.engine !== 'embedded' || existsSync(logPath(eventStore.directory))) return
  throw new NoLogError(
    `there is no log in ${eventStore.directory}: run this in the service's directory, or with its environment`,
  )
}

/**
 * Opens both stores and the master key, making what is not there yet. Other processes may have them open as well.
 * @throws what {@link openLog} and {@link openReachableReadModels} do
 */
export async function openStores(configuration: Configuration): Promise<Stores> {
  const log = await openLog(configuration)
  try {
    const readModels = await openReachableReadModels(configuration)
    const close = async () => {
      await readModels.close()
      await log.close()
    }
    return { ...log, readModels, close }
  } catch (error) {
    await log.close()
    throw error
  }
}

/** @throws MasterKeyError, CannotOpenLogError, StoreUnavailableError, ConfigurationError */
export async function openLog(configuration: Configuration): Promise<OpenedLog> {
  // Before the log exists: a log without its key cannot be told from a lost key.
  const { key, notices } = masterKey(configuration)
  const { eventStore: log, share } = await openEventStore(configuration.eventStore)
  const eventStore = passingOver(log)
  const opened = { eventStore, shareEventStore: share, box: createSecretBox(key), masterKey: key, notices }
  try {
    // A wrong address or password is better told now than as a create that fails.
    await eventStore.readAll({ maxCount: 1 })
    return { ...opened, close: () => eventStore.close() }
  } catch (error) {
    await eventStore.close()
    throw error
  }
}

/** @throws ReadModelsUnavailableError, ConfigurationError */
export async function openReachableReadModels(configuration: Configuration): Promise<ReadModels> {
  const readModels = await openReadModels(configuration.readModels)
  try {
    // A wrong address or password is better told now than as a list that never fills.
    await readModels.listCollections()
    return readModels
  } catch (error) {
    await readModels.close()
    throw error
  }
}

function masterKey(configuration: Configuration) {
  const { masterKey: key, eventStore, dataDirectory } = configuration
  if (key) return { key, notices: [] }
  if (eventStore.engine !== 'embedded') return requireMasterKey(dataDirectory)
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  return loadMasterKey(dataDirectory)
}
