import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Database } from '../sqlite/sqlite.js'
import { messageOf, openForReading } from './log-file.js'

/** No backup was created. The message gives the reason. */
export class BackupFailedError extends Error {
  override readonly name = 'BackupFailedError'
}

export interface Backup {
  readonly bytes: number
  /** The number of events, including those of system streams. */
  readonly events: number
}

/**
 * Writes the current state of the log to a file that can replace `events.db`. The file is complete up to some commit, checked and
 * synced. Appends continue during the backup, but the write-ahead log grows because SQLite cannot reuse it until the backup ends.
 * @throws BackupFailedError
 */
export function backUpLog(directory: string, file: string): Backup {
  if (existsSync(file)) throw new BackupFailedError(`${file} already exists`)
  const draft = `${file}.part`
  rmSync(draft, { force: true })
  try {
    const log = openForReading(directory)
    try {
      // VACUUM INTO is one read transaction. SQLite's backup API restarts at each commit of another process: it never ends under load.
      log.prepare('VACUUM INTO ?').run(draft)
    } finally {
      log.close()
    }
    const events = check(draft)
    sync(draft)
    renameSync(draft, file)
    sync(dirname(file))
    return { bytes: statSync(file).size, events }
  } catch (error) {
    rmSync(draft, { force: true })
    throw new BackupFailedError(`${file} could not be written: ${messageOf(error)}`)
  }
}

function check(file: string): number {
  const backup = new Database(file, { fileMustExist: true })
  try {
    const result = backup.pragma('quick_check', { simple: true })
    if (result !== 'ok') throw new Error(`the backup is damaged: ${result}`)
    // VACUUM INTO does not copy the journal mode, which is stored in the file. In any other mode, readers block writers.
    backup.pragma('journal_mode = WAL')
    return backup.prepare('SELECT count(*) FROM events').pluck().get() as number
  } finally {
    backup.close()
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
