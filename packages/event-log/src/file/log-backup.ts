import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { messageOf, openForReading } from './log-file.js'

/** No backup was made; the message says why. */
export class BackupFailedError extends Error {
  override readonly name = 'BackupFailedError'
}

export interface Backup {
  readonly bytes: number
  /** System streams included. */
  readonly events: number
}

/**
 * Writes the log, as it is when this is called, into one file that can take its place as `events.db`: complete up to some commit,
 * checked and synced. Others may append meanwhile; until the backup is done the write-ahead log cannot be reused, and grows.
 * @throws BackupFailedError
 */
export function backUpLog(directory: string, file: string): Backup {
  if (existsSync(file)) throw new BackupFailedError(`${file} is there already`)
  const draft = `${file}.part`
  rmSync(draft, { force: true })
  try {
    const log = openForReading(directory)
    try {
      // One read transaction. SQLite's backup API starts over whenever another process commits: under load it never ends.
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
    const found = backup.pragma('quick_check', { simple: true })
    if (found !== 'ok') throw new Error(`it is damaged: ${found}`)
    // The journal mode is kept in the file, and VACUUM INTO does not copy it; in any other mode readers block writers.
    backup.pragma('journal_mode = WAL')
    return backup.prepare('SELECT count(*) FROM events').pluck().get() as number
  } finally {
    backup.close()
  }
}

function sync(path: string): void {
  const opened = openSync(path, 'r')
  fsyncSync(opened)
  closeSync(opened)
}
