export * from './event-log-types.js'
export { checkLogFile } from './file/check-log-file.js'
export { type Backup, BackupFailedError, backUpLog } from './file/log-backup.js'
export { BrokenLogError, CannotOpenLogError, logPath } from './file/log-file.js'
export { type LogEnd, type LogRow, readLogEnd, readLogRows, writeLogRows } from './file/log-rows.js'

import type { MessagePort } from 'node:worker_threads'
import type { EventLog } from './event-log-types.js'
import { prepareLog } from './file/log-file.js'
import { EmbeddedPersistentSubscriptions } from './groups/embedded-persistent-subscriptions.js'
import { Log } from './log.js'
import { WriterHost, type WriterPort } from './writer/writer-host.js'

/** The handle that opens the log in another thread of this process. */
export interface EventLogHandle {
  readonly directory: string
  /** The port to the writer. List it in the transfer list of the message. */
  readonly port: MessagePort
}

export interface SharedEventLog extends EventLog {
  /** Returns a handle for {@link attachEventLog} in another thread of this process. Each thread needs its own handle. */
  share(): EventLogHandle
}

interface EventLogOptions {
  readonly directory: string
  /** `false` executes appends in this thread, which then waits for the disk. Starting a thread costs as much as hundreds of appends. */
  readonly writerThread?: boolean
}

/**
 * Opens the log in a directory and creates both if they do not exist. One writer thread executes all appends of the process.
 * @throws CannotOpenLogError
 */
export async function openEventLog({ directory, writerThread = true }: EventLogOptions): Promise<SharedEventLog> {
  prepareLog(directory)
  const log = new Log(directory)
  const host = new WriterHost(directory, log.client, writerThread)
  return {
    ...eventLogOf(log, () => host.close()),
    share: () => ({ directory, port: host.share() }),
  }
}

/** Opens the log in another thread of the process that opened it. The thread appends through that process's writer. */
export function attachEventLog({ directory, port }: EventLogHandle): EventLog {
  const log = new Log(directory)
  port.on('message', (writer: WriterPort) => log.client.connect(writer.port))
  port.on('close', () => log.client.end('the event store was closed by the thread that opened it'))
  return eventLogOf(log, async () => port.close())
}

function eventLogOf(log: Log, closeWriter: () => Promise<void>): EventLog {
  const persistentSubscriptions = new EmbeddedPersistentSubscriptions(log)
  return {
    append: (stream, expectedRevision, events) => log.append(stream, expectedRevision, events),
    appendInOrder: (appends) => log.appendInOrder(appends),
    appendsInOneTransaction: true,
    readStream: (stream, options) => log.readStream(stream, options),
    readEvents: (places) => log.readEvents(places),
    readAll: (options) => log.readAll(options),
    readUnparsed: (options) => log.readUnparsed(options),
    readPlaces: (ranges) => log.readPlaces(ranges),
    subscribeToAll: (options) => log.subscribeToAll(options),
    persistentSubscriptions,
    close: async () => {
      await persistentSubscriptions.close()
      await log.close()
      await closeWriter()
    },
  }
}
