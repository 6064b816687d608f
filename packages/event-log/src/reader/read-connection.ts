import { StoreUnavailableError } from '../event-log-types.js'
import { messageOf, openForReading } from '../file/log-file.js'
import { Database } from '../sqlite/sqlite.js'
import { prepareStatements, type Statements } from './event-rows.js'

/** A reader's connection to the log with its prepared statements. After a failure, the next read reopens it. */
export class ReadConnection {
  #statements: Statements | undefined
  #isClosed = false

  constructor(private readonly directory: string) {
    this.#statements = this.#open()
  }

  /** @throws StoreUnavailableError */
  read<T>(read: (statements: Statements) => T): T {
    if (this.#isClosed) throw new StoreUnavailableError('the event store is closed')
    try {
      this.#statements ??= this.#open()
      return read(this.#statements)
    } catch (error) {
      if (!(error instanceof Database.SqliteError)) throw error
      // After an I/O error, such as a full disk under the shared memory, the state of a connection is unreliable.
      this.#disconnect()
      throw new StoreUnavailableError(`the event log cannot be read: ${messageOf(error)}`)
    }
  }

  /** Like {@link read}, in one transaction, because otherwise each statement takes and releases SQLite's locks. */
  readTogether<T>(read: (statements: Statements) => T): T {
    return this.read((statements) => {
      statements.begin.run()
      try {
        return read(statements)
      } finally {
        if (statements.db.inTransaction) statements.commit.run()
      }
    })
  }

  close(): void {
    this.#isClosed = true
    this.#disconnect()
  }

  #open(): Statements {
    return prepareStatements(openForReading(this.directory))
  }

  #disconnect(): void {
    this.#statements?.db.close()
    this.#statements = undefined
  }
}
