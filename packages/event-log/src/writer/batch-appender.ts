import type { Database, Statement } from 'better-sqlite3'
import { idOfBody } from '../file/event-body.js'
import { BrokenLogError } from '../file/log-file.js'
import type { LogTransaction } from '../file/log-transaction.js'
import { StreamOperations } from './stream-operations.js'
import { judgeExact } from './stream-rules.js'
import { answered, answerLength, type Batch, noRevision } from './writer-messages.js'

/** Reads the plain appends of a batch from front to back. */
class Cursor {
  #at = 0
  constructor(readonly batch: Batch) {}

  next(): Batch[number] | undefined {
    return this.batch[this.#at++]
  }

  text(): string {
    const value = this.next()
    if (typeof value !== 'string') throw new TypeError(`a batch holds ${typeof value} where text belongs`)
    return value
  }

  number(): number {
    const value = this.next()
    if (typeof value !== 'number') throw new TypeError(`a batch holds ${typeof value} where a number belongs`)
    return value
  }
}

/**
 * Writes batches, several of them in one transaction: that is the group commit. Plain appends name the exact revision and take
 * the streams as the log holds them, whatever their metadata says: nothing is looked up for them but the last revision.
 */
export class Appender {
  readonly #transaction: LogTransaction
  readonly #operations: StreamOperations
  readonly #lastRevision: Statement<[number], number | null>

  constructor(db: Database, transaction: LogTransaction) {
    this.#transaction = transaction
    this.#operations = new StreamOperations(db, transaction)
    this.#lastRevision = db
      .prepare<[number], number | null>('SELECT max(revision) FROM events WHERE stream = ?')
      .pluck()
  }

  /** The answers to a batch, {@link answerLength} numbers for each of its appends and operations. */
  execute(batch: Batch): Float64Array {
    const cursor = new Cursor(batch)
    const answers: number[] = []
    for (let unit = cursor.next(); unit !== undefined; unit = cursor.next()) {
      if (typeof unit === 'object') answers.push(...this.#operations.execute(unit))
      else if (typeof unit === 'number') this.#appendInOrder(cursor, unit, answers)
      else throw new TypeError('a batch holds text where a unit begins')
    }
    return new Float64Array(answers)
  }

  /** What follows the first refusal is not tried. */
  #appendInOrder(cursor: Cursor, count: number, answers: number[]): void {
    let isRefused = false
    for (let left = count; left > 0; left--) {
      const name = cursor.text()
      const expected = cursor.number()
      const bodies: string[] = []
      for (let events = cursor.number(); events > 0; events--) bodies.push(cursor.text())
      if (isRefused) answers.push(answered.notTried, 0, 0)
      else this.#append(name, expected, bodies, answers)
      isRefused ||= answers[answers.length - answerLength] === answered.refused
    }
  }

  #append(name: string, expected: number, bodies: readonly string[], answers: number[]): void {
    const number = this.#transaction.numbers.find(name)
    const current = number === undefined ? noRevision : this.#revisionOf(number, name)
    if (expected === current) {
      this.#transaction.write(name, number, current + 1, bodies)
      // No events on no stream: EventStoreDB answers 0, not -1.
      answers.push(answered.appended, Math.max(0, current + bodies.length), this.#transaction.position)
      return
    }
    const verdict = judgeExact(expected, bodies.map(idOfBody), current, this.#operations.storedIds(number, current))
    if (verdict.kind !== 'done') answers.push(answered.refused, current, 0)
    else answers.push(answered.appended, verdict.revision, this.#operations.positionOf(number ?? 0, verdict.revision))
  }

  #revisionOf(number: number, name: string): number {
    this.#transaction.flush() // what this transaction has appended to the stream counts too
    const revision = this.#lastRevision.get(number)
    if (typeof revision !== 'number') throw new BrokenLogError(`${name} is known as stream ${number} but has no events`)
    return revision
  }
}
