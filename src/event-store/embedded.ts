/** The embedded log, which implements the port itself. */
export {
  attachEventLog as attachEmbeddedEventStore,
  type Backup,
  BackupFailedError,
  backUpLog,
  CannotOpenLogError,
  checkLogFile,
  type EventLogHandle as EventStoreHandle,
  logPath,
  openEventLog as openEmbeddedEventStore,
  type SharedEventLog as EmbeddedEventStore,
} from '@transferd/event-log'
