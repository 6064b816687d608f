import Database from 'better-sqlite3'
import { StoreUnavailableError } from '../event-log-types.js'
import { messageOf, openForReading } from '../file/log-file.js'
import { prepareStatements, type Statements } from './event-rows.js'

/** A reader's connection to the log and the statements it prepared on it, opened anew by the next read after a failure. */
export class ReadConnection {
  readonly #directory: string
  #open: Statements | undefined
  #closed = false

  constructor(directory: string) {
    this.#directory = directory
    this.#opened()
  }

  /** @throws StoreUnavailableError */
  read<T>(read: (statements: Statements) => T): T {
    if (this.#closed) throw new StoreUnavailableError('the event store is closed')
    try {
      return read(this.#opened())
    } catch (error) {
      if (!(error instanceof Database.SqliteError)) throw error
      // After an I/O error (a full disk under the shared memory) the state of a connection is not to be trusted.
      this.#open?.db.close()
      this.#open = undefined
      throw new StoreUnavailableError(`the event log cannot be read: ${messageOf(error)}`)
    }
  }

  close(): void {
    this.#closed = true
    this.#open?.db.close()
    this.#open = undefined
  }

  #opened(): Statements {
    this.#open ??= prepareStatements(openForReading(this.#directory))
    return this.#open
  }
}
