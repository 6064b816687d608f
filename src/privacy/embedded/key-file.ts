import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { KeptKey } from '../customer-keys.js'

/** Longer than the rewrite of a file of a million keys, which blocks all other writers. */
const busyMs = 10_000

/**
 * A synchronous connection to the file of keys. Any number of threads and processes can have one. Open the file only with SQLite: closing
 * a different file handle releases the locks of the whole process, and the next program that closes its connection then removes the
 * write-ahead log although other connections use it.
 */
export class KeyFile {
  readonly #db: Database.Database
  readonly #insert: Database.Statement<[string, string, string, string]>
  readonly #byOwner: Database.Statement<[string], KeptKey>
  readonly #byId: Database.Statement<[string], KeptKey>

  private constructor(db: Database.Database) {
    this.#db = db
    this.#insert = db.prepare(
      'INSERT INTO keys (id, merchantId, owner, sealed) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    )
    this.#byOwner = db.prepare('SELECT id, merchantId, owner, sealed FROM keys WHERE owner = ?')
    this.#byId = db.prepare('SELECT id, merchantId, owner, sealed FROM keys WHERE id = ?')
  }

  static open(path: string): KeyFile {
    const db = new Database(path, { timeout: busyMs })
    try {
      // A commit is on disk before it returns, and deleted rows are overwritten.
      db.pragma('journal_mode = WAL')
      db.pragma('synchronous = FULL')
      db.pragma('secure_delete = ON')
      db.exec(
        'CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, merchantId TEXT NOT NULL, owner TEXT NOT NULL UNIQUE, sealed TEXT NOT NULL) WITHOUT ROWID',
      )
      return new KeyFile(db)
    } catch (error) {
      db.close()
      throw error
    }
  }

  /** Returns `undefined` if the file does not exist, because a read must not create it. */
  static find(path: string): KeyFile | undefined {
    return existsSync(path) ? KeyFile.open(path) : undefined
  }

  ensure(keys: readonly KeptKey[]): readonly KeptKey[] {
    return this.#write(() => {
      for (const { id, merchantId, owner, sealed } of keys) this.#insert.run(id, merchantId, owner, sealed)
      return keys.map(({ owner }) => this.#byOwner.get(owner)!)
    })
  }

  byIds(ids: readonly string[]): readonly KeptKey[] {
    return ids.flatMap((id) => this.#byId.get(id) ?? [])
  }

  byOwner(owner: string): KeptKey | undefined {
    return this.#byOwner.get(owner)
  }

  after(id: string, limit: number): readonly KeptKey[] {
    const page = this.#db.prepare<[string, number], KeptKey>(
      'SELECT id, merchantId, owner, sealed FROM keys WHERE id > ? ORDER BY id LIMIT ?',
    )
    return page.all(id, limit)
  }

  counts(): ReadonlyMap<string, number> {
    return new Map(
      this.#db.prepare<[], [string, number]>('SELECT merchantId, count(*) FROM keys GROUP BY 1').raw().all(),
    )
  }

  replace(keys: readonly KeptKey[]): void {
    const update = this.#db.prepare('UPDATE keys SET owner = ?, sealed = ? WHERE id = ?')
    this.#write(() => keys.forEach(({ id, owner, sealed }) => void update.run(owner, sealed, id)))
  }

  destroy(ids: readonly string[]): void {
    const remove = this.#db.prepare('DELETE FROM keys WHERE id = ?')
    this.#write(() => ids.forEach((id) => void remove.run(id)))
    this.#emptyWal()
  }

  /** Rewrites the file. Deletion overwrites a row, but not the copies that remain after rows have moved. */
  compact(): void {
    this.#db.exec('VACUUM')
    this.#emptyWal()
  }

  close(): void {
    this.#db.close()
  }

  /** Removes the earlier versions of pages. */
  #emptyWal(): void {
    this.#db.pragma('wal_checkpoint(TRUNCATE)')
  }

  #write<Result>(work: () => Result): Result {
    return this.#db.transaction(work).immediate()
  }
}
