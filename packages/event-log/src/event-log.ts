export * from './event-log-types.js'
export { checkLogFile } from './file/check-log-file.js'
export { type Backup, BackupFailedError, backUpLog } from './file/log-backup.js'
export { BrokenLogError, CannotOpenLogError, logPath } from './file/log-location.js'
export { type LogEnd, type LogRow, readLogEnd, readLogRows, writeLogRows } from './file/log-rows.js'

import type { MessagePort } from 'node:worker_threads'
import type {
  AnyEvent,
  EventLog,
  EventType,
  ReadStreamOptions,
  RecordedEvent,
  SubscribeToStreamOptions,
} from './event-log-types.js'
import { prepareLog } from './file/log-file.js'
import { createTemporaryDirectory } from './file/temporary-directory.js'
import { EmbeddedPersistentSubscriptions } from './groups/embedded-persistent-subscriptions.js'
import { Log } from './log.js'
import { WriterHost, type WriterPort } from './writer/writer-host.js'

/** The handle that opens the log in another thread of this process. */
export interface EventLogHandle {
  readonly directory: string
  /** The port to the writer. List it in the transfer list of the message. */
  readonly port: MessagePort
}

/** A log that one thread has opened. `await using` closes it. */
export interface EmbeddedEventLog<Event extends EventType = AnyEvent> extends EventLog<Event> {
  /**
   * Yields the events that {@link EventLog.readStream} returns, but reads them in short pages, so that a stream of any length takes little
   * memory. Events that are appended in the meantime are included. @throws StoreUnavailableError, TypeError
   */
  iterateStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent<Event>>
  /**
   * Yields the existing and then the new events of a stream, which need not exist, in their order until the signal aborts. Events of a
   * soft-deleted stream are included. The end of a tombstoned stream is an error.
   * @throws StreamDeletedError after the last event of a tombstoned stream, StoreUnavailableError, TypeError
   */
  subscribeToStream(stream: string, options: SubscribeToStreamOptions): AsyncIterable<RecordedEvent<Event>>
  [Symbol.asyncDispose](): Promise<void>
}

export interface SharedEventLog<Event extends EventType = AnyEvent> extends EmbeddedEventLog<Event> {
  /** Returns a handle for {@link attachEventLog} in another thread of this process. Each thread needs its own handle. */
  share(): EventLogHandle
}

export interface EventLogOptions {
  /** The directory of the log. It is created if it does not exist. */
  readonly directory: string
  readonly temporary?: never
  /** `false` executes appends in this thread, which then waits for the disk. Starting a thread costs as much as hundreds of appends. */
  readonly writerThread?: boolean
}

/**
 * A log for tests, in a new directory in memory (`/dev/shm`), or in the directory of temporary files if the system has no such memory. It
 * is deleted when the log is closed or the process exits. A log that a killed process has left is deleted when another one is opened.
 */
export interface TemporaryEventLogOptions extends Pick<EventLogOptions, 'writerThread'> {
  readonly temporary: true
  readonly directory?: never
}

/**
 * Opens the log in a directory and creates both if they do not exist. One writer thread executes all appends of the process. The type of
 * the events is not checked.
 * @throws CannotOpenLogError
 */
export async function openEventLog<Event extends EventType = AnyEvent>(
  options: EventLogOptions | TemporaryEventLogOptions,
): Promise<SharedEventLog<Event>> {
  const { path: directory, remove } = options.temporary
    ? createTemporaryDirectory()
    : { path: options.directory, remove: () => {} }
  prepareLog(directory)
  const log = new Log(directory)
  const host = new WriterHost(directory, log.client, options.writerThread)
  const closeWriter = () => host.close().finally(remove)
  return {
    ...eventLogOf<Event>(log, closeWriter),
    share: () => ({ directory, port: host.share() }),
  }
}

/** Opens the log in another thread of the process that opened it. The thread appends through that process's writer. */
export function attachEventLog<Event extends EventType = AnyEvent>({
  directory,
  port,
}: EventLogHandle): EmbeddedEventLog<Event> {
  const log = new Log(directory)
  port.on('message', (writer: WriterPort) => log.client.connect(writer.port))
  port.on('close', () => log.client.end('the event store was closed by the thread that opened it'))
  return eventLogOf(log, async () => port.close())
}

function eventLogOf<Event extends EventType>(log: Log, closeWriter: () => Promise<void>): EmbeddedEventLog<Event> {
  const persistentSubscriptions = new EmbeddedPersistentSubscriptions(log)
  let closed: Promise<void> | undefined
  const closeAll = async () => {
    await persistentSubscriptions.close()
    await log.close()
    await closeWriter()
  }
  const close = () => {
    closed ??= closeAll()
    return closed
  }
  const embedded: EmbeddedEventLog = {
    append: (stream, expectedRevision, events) => log.append(stream, expectedRevision, events),
    appendInOrder: (appends) => log.appendInOrder(appends),
    readStream: (stream, options) => log.readStream(stream, options),
    iterateStream: (stream, options) => log.iterateStream(stream, options),
    readEvents: (places) => log.readEvents(places),
    readAll: (options) => log.readAll(options),
    readUnparsed: (options) => log.readUnparsed(options),
    readPlaces: (ranges) => log.readPlaces(ranges),
    subscribeToAll: (options) => log.subscribeToAll(options),
    subscribeToStream: (stream, options) => log.subscribeToStream(stream, options),
    persistentSubscriptions,
    close,
    [Symbol.asyncDispose]: close,
  }
  return embedded as unknown as EmbeddedEventLog<Event>
}
