/** The port over the embedded log, whose operations are the port's. */
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
