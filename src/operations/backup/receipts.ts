import { join } from 'node:path'
import Database from 'better-sqlite3'
import { collections } from '../../read-models/documents.js'
import type { ReadModels } from '../../read-models/read-models.js'

/** Receipts that came after the read models were copied, and before the log was: its events may name them. */
export async function addMissingReceipts(
  from: string,
  to: string,
  open: (directory: string) => Promise<ReadModels>,
): Promise<void> {
  const there = new Set(idsIn(to))
  const missing = idsIn(from).filter((id) => !there.has(id))
  if (missing.length === 0) return
  const [source, target] = [await open(from), await open(to)]
  try {
    for (const _id of missing) {
      const document = await source.collection(collections.receipts).findOne({ _id })
      if (document) await target.collection(collections.receipts).bulkWrite([{ insertOne: { document } }])
    }
  } finally {
    await source.close()
    await target.close()
  }
}

/** Not their documents, which are files of megabytes. */
function idsIn(directory: string): string[] {
  const database = new Database(join(directory, 'read-models.db'), {
    readonly: true,
    fileMustExist: true,
    timeout: 5_000,
  })
  try {
    const id = database.prepare('SELECT id FROM collections WHERE name = ?').pluck().get(collections.receipts)
    return id === undefined
      ? []
      : (database
          .prepare(`SELECT id FROM c${Number(id)}`)
          .pluck()
          .all() as string[])
  } finally {
    database.close()
  }
}
