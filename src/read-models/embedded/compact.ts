import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { ReadModelsUnavailableError } from '../read-models.js'

const busyMs = 30_000
const attempts = 50
const retryAfterMs = 100

/**
 * Writes `read-models.db` of the directory anew, so that nothing is left in it, or in its log, of what was deleted or replaced. Others
 * may have it open; their writes wait meanwhile. @throws ReadModelsUnavailableError
 */
export async function compactEmbeddedReadModels({ directory }: { readonly directory: string }): Promise<void> {
  const file = join(directory, 'read-models.db')
  if (!existsSync(file)) return
  try {
    const db = new Database(file, { timeout: busyMs })
    try {
      db.exec('VACUUM')
      await emptyLog(db)
    } finally {
      db.close()
    }
  } catch (error) {
    if (error instanceof ReadModelsUnavailableError) throw error
    throw new ReadModelsUnavailableError(`the read models cannot be compacted: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** Whoever reads an older state keeps the log as it is for a moment. */
async function emptyLog(db: Database.Database): Promise<void> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }]
    if (result.busy === 0) return
    await sleep(retryAfterMs)
  }
  throw new ReadModelsUnavailableError('the log of the read models is in use all the time: compact them later')
}
