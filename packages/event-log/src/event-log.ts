export * from './event-log-types.js'
export { checkLogFile } from './file/check-log-file.js'
export { type Backup, BackupFailedError, backUpLog } from './file/log-backup.js'
export { CannotOpenLogError, logPath } from './file/log-file.js'

import type { MessagePort } from 'node:worker_threads'
import type { EventLog } from './event-log-types.js'
import { prepareLog } from './file/log-file.js'
import { EmbeddedPersistentSubscriptions } from './groups/embedded-persistent-subscriptions.js'
import { Log } from './log.js'
import { WriterHost, type WriterPort } from './writer/writer-host.js'

/** What crosses to another thread of the process. */
export interface EventLogHandle {
  readonly directory: string
  /** Name it in the transfer list. */
  readonly port: MessagePort
}

export interface SharedEventLog extends EventLog {
  /** For {@link attachEventLog} in another thread of this process; one handle for each. */
  share(): EventLogHandle
}

/**
 * Opens the log in a directory, which is made when it is not there. All appends of the process go through one thread.
 * @throws CannotOpenLogError
 */
export async function openEventLog(options: { readonly directory: string }): Promise<SharedEventLog> {
  const { directory } = options
  prepareLog(directory)
  const log = new Log(directory)
  const host = new WriterHost(directory, log.client)
  return {
    ...withGroups(log, () => host.close()),
    share: () => ({ directory, port: host.share() }),
  }
}

/** Opens the log in another thread of the process that opened it; it appends through that process's writer. */
export function attachEventLog(handle: EventLogHandle): EventLog {
  const log = new Log(handle.directory)
  handle.port.on('message', ({ port }: WriterPort) => log.client.connect(port))
  handle.port.on('close', () => log.client.ended('the event store was closed by the thread that opened it'))
  return withGroups(log, async () => handle.port.close())
}

/** The one place where persistent subscriptions are put on top of the log. */
function withGroups(log: Log, closeWriter: () => Promise<void>): EventLog {
  const persistentSubscriptions = new EmbeddedPersistentSubscriptions(log)
  return {
    append: (stream, expectedRevision, events) => log.append(stream, expectedRevision, events),
    appendInOrder: (appends) => log.appendInOrder(appends),
    appendsInOneTransaction: true,
    readStream: (stream, options) => log.readStream(stream, options),
    readAll: (options) => log.readAll(options),
    subscribeToAll: (options) => log.subscribeToAll(options),
    persistentSubscriptions,
    close: async () => {
      await persistentSubscriptions.close()
      await log.close()
      await closeWriter()
    },
  }
}
