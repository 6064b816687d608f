import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'

/** Checking whether a lock is taken holds it for microseconds: this outlasts any number of checks. */
const busyTimeoutMs = 200

/** Held by at most one holder in all processes; lost at once when its process dies. */
export interface ProcessLock {
  /** Counts the holders: one that gets the number after its previous one knows that nobody held the lock in between. */
  readonly epoch: number
  release(): void
}

/**
 * Takes the lock of this name in the directory, or answers undefined when somebody else has it. It is the lock on a
 * SQLite file in `locks/`, which the operating system releases when the process ends, however it ends.
 */
export function tryProcessLock(directory: string, name: string): ProcessLock | undefined {
  const db = open(directory, name, busyTimeoutMs)
  try {
    db.pragma('locking_mode = EXCLUSIVE') // the commit below does not let go of the file, only closing it does
    db.pragma('synchronous = OFF') // the epoch tells living processes apart: it may be lost with the machine
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

export function isProcessLocked(directory: string, name: string): boolean {
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

function open(directory: string, name: string, timeout: number): Database.Database {
  const locks = join(directory, 'locks')
  mkdirSync(locks, { recursive: true, mode: 0o700 })
  const file = createHash('sha256').update(name).digest('hex')
  return new Database(join(locks, `${file}.lock`), { timeout })
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
