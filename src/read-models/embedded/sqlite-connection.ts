import { setTimeout as sleep } from 'node:timers/promises'
import { Database, type Statement } from '@transferd/event-log/sqlite'
import { ReadModelsUnavailableError } from '../read-models.js'

const maxStatements = 256
const busyDeadlineMs = 5_000
/** Short, because waiting inside SQLite blocks the event loop. The longer wait takes place between attempts. */
const busyInSqliteMs = 10
const cacheKib = 65_536
/** Pages that change repeatedly, such as inner pages of indexes, are written once per checkpoint: 20 % faster than with 1,000. */
const checkpointPages = 16_000
const maxWalBytes = 128 * 1024 * 1024
const unavailableCode = /^SQLITE_(BUSY|FULL|IOERR|CANTOPEN|READONLY|LOCKED|PROTOCOL|NOMEM|CORRUPT|NOTADB|PERM)/

/** One connection to the file, with its statements, transactions and error handling. */
export class Connection {
  readonly #statements = new Map<string, Statement<unknown[]>>()
  #database: Database | undefined
  #closed = false
  /** Increases with every opening and every rollback, after which cached knowledge of the file is invalid. */
  generation = 0

  constructor(private readonly file: string) {}

  get database(): Database {
    if (this.#closed) throw new ReadModelsUnavailableError('the read models are closed')
    if (this.#database === undefined) {
      this.#database = openFile(this.file)
      this.generation++
    }
    return this.#database
  }

  /** Returns rows as arrays. The least recently used statement is dropped if there are too many. */
  statement(sql: string): Statement<unknown[]> {
    const database = this.database
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = database.prepare(sql)
      if (statement.reader) statement.raw(true)
      if (this.#statements.size >= maxStatements) this.#statements.delete(this.#statements.keys().next().value!)
    } else this.#statements.delete(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  forgetStatements(): void {
    this.#statements.clear()
  }

  /** Runs synchronous work in one transaction that holds the write lock from its start. @throws ReadModelsUnavailableError */
  write<T>(work: () => T): Promise<T> {
    return this.read(() => {
      // Immediate, because a transaction that reads before it writes fails if another one writes in between.
      this.statement('BEGIN IMMEDIATE').run()
      try {
        const result = work()
        this.statement('COMMIT').run()
        return result
      } catch (error) {
        this.generation++
        // SQLite may have rolled back already on a full disk.
        if (this.#database?.inTransaction === true) this.statement('ROLLBACK').run()
        throw error
      }
    })
  }

  close(): void {
    this.#closed = true
    this.#drop()
  }

  /** Runs synchronous work, and waits for another writer. @throws ReadModelsUnavailableError */
  async read<T>(work: () => T): Promise<T> {
    const deadlineMs = performance.now() + busyDeadlineMs
    for (;;) {
      try {
        return work()
      } catch (error) {
        if (!(error instanceof Database.SqliteError) || !unavailableCode.test(error.code)) throw error
        const busy = error.code.startsWith('SQLITE_BUSY')
        if (!busy || performance.now() > deadlineMs) {
          // After an I/O error, SQLite's view of the file can stay stale. A full disk or a lock does not harm it.
          if (!busy && error.code !== 'SQLITE_FULL') this.#drop()
          throw new ReadModelsUnavailableError(`the read models are unavailable: ${error.code}`, { cause: error })
        }
      }
      await sleep(1 + Math.random() * 9)
    }
  }

  #drop(): void {
    this.#statements.clear()
    const database = this.#database
    this.#database = undefined
    try {
      database?.close()
    } catch {
      // It is dropped because it is unusable.
    }
  }
}

function openFile(file: string): Database {
  const database = new Database(file, { timeout: busyInSqliteMs })
  try {
    // NORMAL: see docs/decisions/0003-read-models.md for why a power cut only ever loses a suffix, checkpoint included.
    for (const pragma of [
      'journal_mode = WAL',
      'synchronous = NORMAL',
      `cache_size = -${cacheKib}`,
      `wal_autocheckpoint = ${checkpointPages}`,
      `journal_size_limit = ${maxWalBytes}`,
    ])
      database.pragma(pragma)
    // AUTOINCREMENT, because a reused number would let a stale connection read the table of another collection.
    database.exec(`CREATE TABLE IF NOT EXISTS collections(
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, declaration TEXT NOT NULL, fields TEXT NOT NULL,
      indexes TEXT NOT NULL)`)
    database.exec('CREATE TABLE IF NOT EXISTS keywords(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
