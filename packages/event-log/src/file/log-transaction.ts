import type { Database, Statement } from 'better-sqlite3'
import { StreamNameMerge, StreamNumbers } from './stream-numbers.js'

/** One transaction after the other on a writer's connection, and what each of them changes in memory. */
export class LogTransaction {
  readonly numbers: StreamNumbers
  /** Of the last event, of the transaction under way too. */
  position = -1
  /** When the transaction under way began: the time of its events. */
  nowMs = 0
  readonly #db: Database
  readonly #merge: StreamNameMerge
  readonly #lastPosition: Statement<[], number | null>
  readonly #commit: Statement<[]>
  readonly #rollback: Statement<[]>
  /** What the transaction under way has changed in memory. */
  #added: string[] = []
  #lastNumber = 0
  #merged: (() => void) | undefined

  constructor(db: Database) {
    this.#db = db
    this.numbers = new StreamNumbers(db)
    this.#merge = new StreamNameMerge(db, this.numbers)
    this.#lastPosition = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck()
    this.#commit = db.prepare<[]>('COMMIT')
    this.#rollback = db.prepare<[]>('ROLLBACK')
  }

  /** Call it when the write lock is held (after BEGIN IMMEDIATE): another process may have appended since the last time. */
  begun(nowMs: number): void {
    this.#added = []
    this.nowMs = nowMs
    const position = this.#lastPosition.get() ?? 0
    if (position !== this.position) this.numbers.refresh()
    this.position = position
    this.#lastNumber = this.numbers.last
    this.#merged = this.#merge.step()
  }

  /** The number of a stream that gets its first event now. */
  addStream(name: string): number {
    const number = this.numbers.last + 1
    this.numbers.add(name, number)
    this.#added.push(name)
    return number
  }

  /** Durable when it returns. Answers the position of the last event. */
  commit(): number {
    this.#commit.run()
    this.#merged?.()
    return this.position
  }

  rollback(): void {
    // SQLite has rolled back by itself after some errors (a full disk).
    if (this.#db.inTransaction) this.#rollback.run()
    this.numbers.forget(this.#added, this.#lastNumber)
    this.position = -1
  }
}
