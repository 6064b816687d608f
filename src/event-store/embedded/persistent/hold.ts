import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'

/** Long enough for somebody who only looks whether the group is held, which takes microseconds. */
const busyTimeoutMs = 200

/**
 * One holder per group: an exclusive lock on a file of its own. The operating system frees it with the process, also
 * after SIGKILL, so nobody waits for a lease to run out and no clock or process id can mislead anybody. SQLite is the
 * means since Node cannot lock files, and since it also tells threads of one process apart.
 */
export class GroupHold {
  private constructor(
    private readonly db: Database.Database,
    /** Counts the holders: whoever gets the number after their own was not followed by anybody. */
    readonly epoch: number,
  ) {}

  /** @returns undefined while another thread or process holds the group. */
  static acquire(directory: string, group: string): GroupHold | undefined {
    const db = new Database(lockFile(directory, group), { timeout: busyTimeoutMs })
    try {
      db.pragma('locking_mode = EXCLUSIVE') // kept after the commit below, until the file is closed
      db.pragma('synchronous = OFF')
      db.exec('BEGIN EXCLUSIVE')
      const epoch = (db.pragma('user_version', { simple: true }) as number) + 1
      db.pragma(`user_version = ${epoch}`)
      db.exec('COMMIT')
      return new GroupHold(db, epoch)
    } catch (error) {
      db.close()
      if (isBusy(error)) return undefined
      throw error
    }
  }

  static isHeld(directory: string, group: string): boolean {
    const db = new Database(lockFile(directory, group), { timeout: 0 })
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

  release(): void {
    this.db.close()
  }
}

function lockFile(directory: string, group: string): string {
  const folder = join(directory, 'groups')
  mkdirSync(folder, { recursive: true })
  return join(folder, `${createHash('sha256').update(group).digest('hex').slice(0, 32)}.lock`)
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
