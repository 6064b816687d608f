import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'

/** Something only one holder of all processes has; a process that dies loses it at once. */
export interface ProcessLock {
  release(): void
}

/**
 * Takes the lock of this name in the directory, or answers undefined when somebody else has it. The lock is that of a
 * SQLite file of its own in `locks/`: the operating system lets go of it when the process ends, however it ends.
 */
export function tryProcessLock(directory: string, name: string): ProcessLock | undefined {
  const locks = join(directory, 'locks')
  mkdirSync(locks, { recursive: true, mode: 0o700 })
  const file = createHash('sha256').update(name).digest('hex')
  const db = new Database(join(locks, `${file}.lock`), { timeout: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined
    throw error
  }
  return { release: () => db.close() }
}
