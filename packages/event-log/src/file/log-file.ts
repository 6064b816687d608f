import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import Database from 'better-sqlite3'

/** The directory holds no event log of ours, or one this program must not touch. The message says what to do. */
export class CannotOpenLogError extends Error {
  override readonly name = 'CannotOpenLogError'
}

/** The log does not hold what was written to it. The message names the position. */
export class BrokenLogError extends Error {
  override readonly name = 'BrokenLogError'
}

/** 'tfrd': written into the file's header, so that another program's SQLite file is never taken for a log. */
const applicationId = 0x74667264
const schemaVersion = 1

/**
 * Every event carries its stream's name: a prefix is then tested on the row itself, and one insert writes an event.
 * `stream` is a small sequential number, because random keys cost three times the throughput. `stream_names` finds the
 * number by a hash of the name; it covers the streams up to `indexed_through`, and recent ones behind that by other keys
 * (see stream-numbers.ts).
 * `body` is the JSON text of `[id, type, data, metadata]`: every column costs an append and a read, and one parse gives
 * all four. It has no affinity, so that other content can come as blobs.
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

export function logPath(directory: string): string {
  return join(directory, 'events.db')
}

export function walPath(directory: string): string {
  return `${logPath(directory)}-wal`
}

/**
 * Makes the directory (mode 0700) and the log in it unless they are there, and checks that the log is ours.
 * @throws CannotOpenLogError
 */
export function prepareLog(directory: string): void {
  try {
    const made = mkdirSync(directory, { recursive: true, mode: 0o700 })
    if (made !== undefined) syncParents(resolve(directory), resolve(made))
    if (!statSync(directory).isDirectory()) throw new Error('not a directory')
  } catch (error) {
    throw new CannotOpenLogError(`${directory} cannot be used as a data directory: ${messageOf(error)}`)
  }
  let db: Database.Database | undefined
  try {
    db = new Database(logPath(directory), { timeout: 10_000 })
    createSchema(db, directory)
  } catch (error) {
    if (error instanceof CannotOpenLogError) throw error
    throw new CannotOpenLogError(explain(directory, error))
  } finally {
    db?.close()
  }
}

/** SQLite syncs the entries in the directory, not those of the directories just made: a power cut could lose the whole log. */
function syncParents(directory: string, topmostMade: string): void {
  for (let made = directory; ; made = dirname(made)) {
    const parent = openSync(dirname(made), 'r')
    fsyncSync(parent)
    closeSync(parent)
    if (made === topmostMade) return
  }
}

function createSchema(db: Database.Database, directory: string): void {
  // An existing log is not locked: a command would have to wait for a busy service.
  if (isOurs(db, directory)) return
  // 15 events of half a kilobyte fill a page; 4 KiB hold 7, leave an eighth empty and need twice the frames in the WAL.
  db.pragma('page_size = 8192')
  db.pragma('journal_mode = WAL')
  // Immediate, and checked again inside: two processes may open a new directory at the same moment.
  db.transaction(() => {
    if (isOurs(db, directory)) return
    db.exec(logSchema)
    db.pragma(`application_id = ${applicationId}`)
    db.pragma(`user_version = ${schemaVersion}`)
  }).immediate()
}

/** False when the file is new. @throws CannotOpenLogError */
function isOurs(db: Database.Database, directory: string): boolean {
  const version = db.pragma('user_version', { simple: true }) as number
  const id = db.pragma('application_id', { simple: true })
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number
  if (id !== applicationId && (id !== 0 || version !== 0 || tables > 0)) {
    throw new CannotOpenLogError(`${logPath(directory)} belongs to another program: choose another data directory`)
  }
  if (version > schemaVersion) {
    throw new CannotOpenLogError(
      `${logPath(directory)} was written by a newer version (format ${version}, this one knows ${schemaVersion}): upgrade transferd`,
    )
  }
  return version === schemaVersion
}

/** A connection that appends. synchronous=FULL: with NORMAL a power cut loses acknowledged events. */
export function openForAppending(directory: string): Database.Database {
  const db = new Database(logPath(directory), { fileMustExist: true, timeout: 5_000 })
  db.pragma('synchronous = FULL')
  // The checkpointer thread does it: a commit that had to copy the whole WAL would take hundreds of milliseconds.
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('cache_size = -65536')
  return db
}

export function openForReading(directory: string): Database.Database {
  return new Database(logPath(directory), { readonly: true, fileMustExist: true, timeout: 5_000 })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function explain(directory: string, error: unknown): string {
  const code = error instanceof Database.SqliteError ? error.code : ''
  const path = logPath(directory)
  if (code === 'SQLITE_NOTADB') return `${path} is not an event log: choose another data directory`
  if (code.startsWith('SQLITE_READONLY') || (code.startsWith('SQLITE_CANTOPEN') && existsSync(directory))) {
    return `${path} cannot be written: give this user write access to ${directory} and the files in it`
  }
  return `${path} cannot be opened: ${messageOf(error)}`
}
