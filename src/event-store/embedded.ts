import { attachEventLog, type EventLogHandle, openEventLog } from '@transferd/event-log'
import type { EventStore } from './event-store.js'

export { type Backup, BackupFailedError, backUpLog, CannotOpenLogError, logPath } from '@transferd/event-log'
/** What crosses to another thread of the process. */
export type EventStoreHandle = EventLogHandle

export interface EmbeddedEventStore extends EventStore {
  /** For {@link attachEmbeddedEventStore} in another thread of this process; one handle for each. */
  share(): EventStoreHandle
}

/**
 * Opens the log in a directory, which is made when it is not there. All appends of the process go through one thread.
 * @throws CannotOpenLogError
 */
export function openEmbeddedEventStore(options: { readonly directory: string }): Promise<EmbeddedEventStore> {
  return openEventLog(options)
}

/** Opens the log in another thread of the process that opened it; it appends through that process's writer. */
export function attachEmbeddedEventStore(handle: EventStoreHandle): EventStore {
  return attachEventLog(handle)
}
