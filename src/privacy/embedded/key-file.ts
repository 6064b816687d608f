import Database from 'better-sqlite3'
import type { KeptKey } from '../customer-keys.js'

/** Longer than the rewrite of a file of a million keys, which blocks all other writers. */
const busyMs = 10_000
const table =
  'keys (id TEXT PRIMARY KEY, merchantId TEXT NOT NULL, owner TEXT NOT NULL UNIQUE, sealed TEXT NOT NULL) WITHOUT ROWID'

export type KeyFile = ReturnType<typeof openKeyFile>

/**
 * Opens a synchronous connection to the file of keys. Any number of threads and processes can have one. Open the file only with SQLite:
 * closing a different file handle releases the locks of the whole process, and the next program that closes its connection then removes
 * the write-ahead log although other connections use it.
 */
export function openKeyFile(path: string) {
  const db = new Database(path, { timeout: busyMs })
  try {
    return keyFileOf(db)
  } catch (error) {
    db.close()
    throw error
  }
}

function keyFileOf(db: Database.Database) {
  // A commit is on disk before it returns, and deleted rows are overwritten.
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'secure_delete = ON']) db.pragma(pragma)
  db.exec(`CREATE TABLE IF NOT EXISTS ${table}`)
  const insert = db.prepare<KeptKey>(
    'INSERT INTO keys VALUES (@id, @merchantId, @owner, @sealed) ON CONFLICT DO NOTHING',
  )
  const update = db.prepare<KeptKey>('UPDATE keys SET owner = @owner, sealed = @sealed WHERE id = @id')
  const remove = db.prepare<[string]>('DELETE FROM keys WHERE id = ?')
  const ofOwner = db.prepare<[string], KeptKey>('SELECT * FROM keys WHERE owner = ?')
  const withId = db.prepare<[string], KeptKey>('SELECT * FROM keys WHERE id = ?')
  const afterId = db.prepare<[string, number], KeptKey>('SELECT * FROM keys WHERE id > ? ORDER BY id LIMIT +?')
  const counted = db.prepare<[], [string, number]>('SELECT merchantId, count(*) FROM keys GROUP BY 1').raw()
  const write = <Result>(work: () => Result): Result => db.transaction(work).immediate()
  // Removes the earlier versions of pages.
  const emptyWal = () => void db.pragma('wal_checkpoint(TRUNCATE)')
  return {
    ensure: (keys: readonly KeptKey[]): readonly KeptKey[] =>
      write(() => {
        for (const key of keys) insert.run(key)
        return keys.map(({ owner }) => ofOwner.get(owner)!)
      }),
    byIds: (ids: readonly string[]): readonly KeptKey[] => ids.flatMap((id) => withId.get(id) ?? []),
    byOwner: (owner: string) => ofOwner.get(owner),
    after: (id: string, limit: number): readonly KeptKey[] => afterId.all(id, limit),
    counts: (): ReadonlyMap<string, number> => new Map(counted.all()),
    replace: (keys: readonly KeptKey[]): void => write(() => keys.forEach((key) => void update.run(key))),
    destroy(ids: readonly string[]): void {
      write(() => ids.forEach((id) => void remove.run(id)))
      emptyWal()
    },
    /** Rewrites the file. Deletion overwrites a row, but not the copies that remain after rows have moved. */
    compact(): void {
      db.exec('VACUUM')
      emptyWal()
    },
    close: (): void => void db.close(),
  }
}
