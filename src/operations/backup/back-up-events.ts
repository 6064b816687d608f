import { resolve } from 'node:path'
import { type Backup, backUpLog } from '@transferd/event-log'
import { ConfigurationError, readConfiguration } from '../configuration/configuration.js'
import { requireLog } from '../stores/stores.js'
import { noteBackup } from './last-backup.js'

/** @throws BackupFailedError, NoLogError, ConfigurationError; also when the log is on a server, which has means of its own */
export function backUpEvents(environment: NodeJS.ProcessEnv, file: string): Backup & { readonly file: string } {
  const configuration = readConfiguration(environment)
  const { eventStore, dataDirectory } = configuration
  if (eventStore.engine !== 'embedded')
    throw new ConfigurationError(['EVENT_STORE_URL names a server: back it up by its own means, or with events copy'])
  requireLog(configuration)
  const path = resolve(file)
  const backup = backUpLog(eventStore.directory, path)
  noteBackup(dataDirectory, new Date().toISOString())
  return { file: path, ...backup }
}
