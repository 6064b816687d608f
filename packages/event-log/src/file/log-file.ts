import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Database } from '../sqlite/sqlite.js'
import { CannotOpenLogError, logPath } from './log-location.js'

/** 'tfrd' in the file's header, so that the SQLite file of a different program is never mistaken for a log. */
const applicationId = 0x74667264
const schemaVersion = 1

/**
 * The schema of the log. Every event includes its stream's name, so that a prefix is tested on the row and one insert writes an event.
 * `stream` is a small sequential number, because random keys reduce the throughput to a third. `stream_names` maps the hash of a
 * name to the number: by the hash for streams up to `indexed_through`, and by other keys for recent streams (see stream-numbers.ts).
 * `body` is the JSON text of `[id, type, data, metadata]`, because each column slows down every append and read, and one parse yields
 * all four. It has no type affinity, so that it can also store blobs.
 */
export const logSchema = `
CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  name TEXT NOT NULL,
  body NOT NULL
);
CREATE UNIQUE INDEX events_by_stream ON events (stream, revision);
CREATE TABLE stream_names (
  hash INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  PRIMARY KEY (hash, stream)
) WITHOUT ROWID;
CREATE TABLE log_state (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  indexed_through INTEGER NOT NULL
);
INSERT INTO log_state VALUES (1, 0);
`

/** The largest distance of a Date from 1970. */
const maxTimeMs = 8_640_000_000_000_000

/** Returns whether a stored time is one. With any other value, every reader that formats the time would fail. */
export const isTime = (ms: number): boolean => Number.isSafeInteger(ms) && Math.abs(ms) <= maxTimeMs

const lockTimeoutMs = 10_000

export function walPath(directory: string): string {
  return `${logPath(directory)}-wal`
}

/**
 * Creates the directory (mode 0700) and the log if they do not exist, and checks that the file is an event log.
 * @throws CannotOpenLogError
 */
export function prepareLog(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    // Also if the directory exists: the process that created it may have been killed before the sync.
    if (!existsSync(logPath(directory))) syncParents(resolve(directory))
    if (!statSync(directory).isDirectory()) throw new Error('not a directory')
  } catch (error) {
    throw new CannotOpenLogError(`${directory} cannot be used as a data directory: ${messageOf(error)}`, {
      cause: error,
    })
  }
  let db: Database | undefined
  try {
    db = new Database(logPath(directory), { timeout: lockTimeoutMs })
    createSchema(db, directory)
  } catch (error) {
    if (error instanceof CannotOpenLogError) throw error
    throw new CannotOpenLogError(explain(directory, error))
  } finally {
    db?.close()
  }
}

/** Syncs the directories that lead to a new log. SQLite only syncs the entries within its own: a power cut could lose the whole log. */
function syncParents(directory: string): void {
  for (let entry = directory; entry !== dirname(entry); entry = dirname(entry)) {
    try {
      const parent = openSync(dirname(entry), 'r')
      fsyncSync(parent)
      closeSync(parent)
    } catch (error) {
      // The user of the log did not create a directory that it must not read.
      if ((error as NodeJS.ErrnoException).code === 'EACCES') return
      throw error
    }
  }
}

function createSchema(db: Database, directory: string): void {
  // Do not lock an existing log: a command would have to wait for a busy service.
  if (isEventLog(db, directory)) return
  // A page of 8 KiB holds 15 events of half a kilobyte. One of 4 KiB holds 7, wastes an eighth and needs twice as many WAL frames.
  db.pragma('page_size = 8192')
  changeToWal(db)
  // Lock and check again: two processes may open a new directory at the same time.
  db.transaction(() => {
    if (isEventLog(db, directory)) return
    db.exec(logSchema)
    db.pragma(`application_id = ${applicationId}`)
    db.pragma(`user_version = ${schemaVersion}`)
  }).immediate()
}

/** Changes the journal mode. SQLite fails immediately if another process does the same, so the change is repeated. */
function changeToWal(db: Database): void {
  const untilMs = performance.now() + lockTimeoutMs
  for (;;) {
    try {
      db.pragma('journal_mode = WAL')
      return
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY' || performance.now() > untilMs) throw error
    }
  }
}

/** Returns whether the file contains an event log; `false` means that the file is new. @throws CannotOpenLogError */
function isEventLog(db: Database, directory: string): boolean {
  // In one transaction, because another process may create the schema between two reads.
  const read = db.transaction(() => ({
    version: db.pragma('user_version', { simple: true }) as number,
    id: db.pragma('application_id', { simple: true }),
    tables: db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number,
  }))
  const { version, id, tables } = read()
  if (id !== applicationId && (id !== 0 || version !== 0 || tables > 0)) {
    throw new CannotOpenLogError(
      `${logPath(directory)} belongs to a different program: choose a different data directory`,
    )
  }
  if (version > schemaVersion) {
    throw new CannotOpenLogError(
      `${logPath(directory)} was written by a newer version (format ${version}; this version supports ${schemaVersion}): upgrade transferd`,
    )
  }
  return version === schemaVersion
}

/**
 * The size to which the WAL is cut after a long read. It is more than the WAL reaches under load, because a file that is cut grows again
 * with the next appends.
 */
export const walBytesMax = 64 * 1024 * 1024

/** Opens a connection for appending. It needs synchronous=FULL: with NORMAL, a power cut loses acknowledged events. */
export function openForAppending(directory: string): Database {
  const db = new Database(logPath(directory), { fileMustExist: true, timeout: 5_000 })
  db.pragma('synchronous = FULL')
  // The checkpointer thread copies the WAL: a commit that had to copy all of it would take hundreds of milliseconds.
  db.pragma('wal_autocheckpoint = 0')
  // This cuts the WAL when an append starts it again. Without an append, the checkpointer cuts it.
  db.pragma(`journal_size_limit = ${walBytesMax}`)
  db.pragma('cache_size = -65536')
  return db
}

export function openForReading(directory: string): Database {
  return new Database(logPath(directory), { readonly: true, fileMustExist: true, timeout: 5_000 })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function explain(directory: string, error: unknown): string {
  const code = error instanceof Database.SqliteError ? error.code : ''
  const path = logPath(directory)
  if (code === 'SQLITE_NOTADB') return `${path} is not an event log: choose a different data directory`
  if (code.startsWith('SQLITE_READONLY') || (code.startsWith('SQLITE_CANTOPEN') && existsSync(directory))) {
    return `${path} cannot be written: give this user write access to ${directory} and the files in it`
  }
  return `${path} cannot be opened: ${messageOf(error)}`
}
