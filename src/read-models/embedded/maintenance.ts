import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Database } from '@transferd/event-log/sqlite'
import { ReadModelsUnavailableError } from '../read-models.js'

const maxProblems = 20
const busyMs = 30_000
const attempts = 50
const retryAfterMs = 100

/** Returns the problems of a SQLite database as sentences; an empty list if it is intact. Other processes can write concurrently. */
export function checkDatabaseFile(path: string): readonly string[] {
  let db: Database | undefined
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 })
    const found = db.pragma(`quick_check(${maxProblems})`) as { quick_check: string }[]
    return found.filter(({ quick_check }) => quick_check !== 'ok').map((row) => `SQLite reports: ${row.quick_check}.`)
  } catch (error) {
    return [`The database cannot be read: ${(error as Error).message}.`]
  } finally {
    db?.close()
  }
}

/**
 * Rewrites `read-models.db` of the directory, so that neither the file nor its log contains deleted or replaced data. Other processes can
 * have it open; their writes wait. @throws ReadModelsUnavailableError
 */
export async function compactEmbeddedReadModels({ directory }: { readonly directory: string }): Promise<void> {
  const file = join(directory, 'read-models.db')
  if (!existsSync(file)) return
  try {
    const db = new Database(file, { timeout: busyMs })
    try {
      for (const table of wordTables(db)) rewriteWords(db, table)
      db.exec('VACUUM')
      await emptyLog(db)
    } finally {
      db.close()
    }
  } catch (cause) {
    if (cause instanceof ReadModelsUnavailableError) throw cause
    throw new ReadModelsUnavailableError(`the read models cannot be compacted: ${(cause as Error).message}`, { cause })
  }
}

function wordTables(db: Database): readonly string[] {
  const found = db
    .prepare("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5(%'")
    .pluck()
    .all()
  return found as string[]
}

/**
 * Writes the lists of words again, because FTS5 removes a deleted word from a list but can keep its beginning as the border between two
 * pages. A list on its own is not written again, so a sample row adds another one.
 */
function rewriteWords(db: Database, table: string): void {
  db.transaction(() => {
    db.exec(`INSERT INTO ${table}(rowid, words) VALUES (-1, 'x')`)
    db.exec(`INSERT INTO ${table}(${table}) VALUES ('optimize')`)
    db.exec(`INSERT INTO ${table}(${table}, rowid, words) VALUES ('delete', -1, 'x')`)
  }).immediate()
}

/** A reader of an earlier state can delay this. */
async function emptyLog(db: Database): Promise<void> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }]
    if (result.busy === 0) return
    await sleep(retryAfterMs)
  }
  throw new ReadModelsUnavailableError('the log of the read models is in constant use: compact them later')
}
