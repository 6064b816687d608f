import { resolve } from 'node:path'
import { type Backup, backUpLog } from '../event-store/embedded/backup.js'
import { readConfiguration } from './configuration.js'
import { requireLog } from './stores.js'

/** @throws BackupFailedError, NoLogError, ConfigurationError */
export function backUpEvents(environment: NodeJS.ProcessEnv, file: string): Backup & { readonly file: string } {
  const configuration = readConfiguration(environment)
  requireLog(configuration)
  const path = resolve(file)
  return { file: path, ...backUpLog(configuration.eventStoreDirectory, path) }
}
