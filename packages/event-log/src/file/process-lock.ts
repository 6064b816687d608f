import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '../sqlite/sqlite.js'

/** The time to wait for other processes that only check the lock: each check holds it for microseconds. */
const busyTimeoutMs = 200

/** A lock with at most one holder in all processes. It is released immediately when the holder's process dies. */
export interface ProcessLock {
  /** The number of holders so far. A holder that gets its previous number plus 1 knows that no one else held the lock in between. */
  readonly epoch: number
  release(): void
}

/** The named locks of a log. */
export interface ProcessLocks {
  /** Returns `undefined` if the lock is already held. */
  tryTake(name: string): ProcessLock | undefined
  isTaken(name: string): boolean
}

/** Returns the locks of SQLite files in `locks/` of the directory, which the operating system releases however the process ends. */
export function fileLocks(directory: string): ProcessLocks {
  return { tryTake: (name) => tryProcessLock(directory, name), isTaken: (name) => isLocked(directory, name) }
}

/** Takes the lock with this name in the directory, or returns `undefined` if it is already held. */
export function tryProcessLock(directory: string, name: string): ProcessLock | undefined {
  const db = open(directory, name, busyTimeoutMs)
  try {
    db.pragma('locking_mode = EXCLUSIVE') // only closing the file releases the lock, not the commit below
    db.pragma('synchronous = OFF') // the epoch distinguishes running processes, so a power cut may lose it
    db.exec('BEGIN EXCLUSIVE')
    const epoch = (db.pragma('user_version', { simple: true }) as number) + 1
    db.pragma(`user_version = ${epoch}`)
    db.exec('COMMIT')
    return { epoch, release: () => db.close() }
  } catch (error) {
    db.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

function isLocked(directory: string, name: string): boolean {
  const db = open(directory, name, 0)
  try {
    db.pragma('user_version')
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw error
  } finally {
    db.close()
  }
}

function open(directory: string, name: string, timeout: number): Database {
  const locks = join(directory, 'locks')
  mkdirSync(locks, { recursive: true, mode: 0o700 })
  const file = createHash('sha256').update(name).digest('hex')
  return new Database(join(locks, `${file}.lock`), { timeout })
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
