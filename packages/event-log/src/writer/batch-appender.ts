import type { Database, Statement } from 'better-sqlite3'
import { idOfBody } from '../file/event-body.js'
import { BrokenLogError } from '../file/log-file.js'
import type { LogTransaction } from '../file/log-transaction.js'
import { StreamOperations } from './stream-operations.js'
import { decideExactAppend } from './stream-rules.js'
import { type Batch, noRevision, resultKind, resultLength } from './writer-messages.js'

/** Reads the values of a batch from front to back. */
class BatchReader {
  #index = 0
  constructor(readonly batch: Batch) {}

  next(): Batch[number] | undefined {
    return this.batch[this.#index++]
  }

  text(): string {
    const value = this.next()
    if (typeof value !== 'string') throw new TypeError(`a batch has a ${typeof value} instead of text`)
    return value
  }

  number(): number {
    const value = this.next()
    if (typeof value !== 'number') throw new TypeError(`a batch has a ${typeof value} instead of a number`)
    return value
  }
}

/**
 * Writes batches. Several of them in one transaction form a group commit. Plain appends require an exact revision and ignore stream
 * metadata, so they only look up the last revision.
 */
export class BatchAppender {
  readonly #operations: StreamOperations
  readonly #lastRevision: Statement<[number], number | null>

  constructor(
    db: Database,
    private readonly transaction: LogTransaction,
  ) {
    this.#operations = new StreamOperations(db, transaction)
    this.#lastRevision = db
      .prepare<[number], number | null>('SELECT max(revision) FROM events WHERE stream = ?')
      .pluck()
  }

  /** Returns {@link resultLength} numbers for each append and operation of the batch. */
  execute(batch: Batch): Float64Array {
    const reader = new BatchReader(batch)
    const results: number[] = []
    for (let unit = reader.next(); unit !== undefined; unit = reader.next()) {
      if (typeof unit === 'object') results.push(...this.#operations.execute(unit))
      else if (typeof unit === 'number') this.#appendInOrder(reader, unit, results)
      else throw new TypeError('a unit of a batch starts with text')
    }
    return new Float64Array(results)
  }

  /** Executes appends in order. It does not try those after a rejected one. */
  #appendInOrder(reader: BatchReader, count: number, results: number[]): void {
    let isRejected = false
    for (let left = count; left > 0; left--) {
      const name = reader.text()
      const expected = reader.number()
      const bodies: string[] = []
      for (let events = reader.number(); events > 0; events--) bodies.push(reader.text())
      if (isRejected) results.push(resultKind.notTried, 0, 0)
      else this.#append(name, expected, bodies, results)
      isRejected ||= results[results.length - resultLength] === resultKind.rejected
    }
  }

  #append(name: string, expected: number, bodies: readonly string[], results: number[]): void {
    const number = this.transaction.numbers.find(name)
    const current = number === undefined ? noRevision : this.#revisionOf(number, name)
    if (expected === current) {
      this.transaction.write(name, number, current + 1, bodies)
      // EventStoreDB responds with 0, not -1, to an append of no events to a nonexistent stream.
      results.push(resultKind.appended, Math.max(0, current + bodies.length), this.transaction.position)
      return
    }
    const storedIds = this.#operations.storedIds(number, current)
    const decision = decideExactAppend(expected, bodies.map(idOfBody), current, storedIds)
    if (decision.kind !== 'already_stored') results.push(resultKind.rejected, current, 0)
    else {
      const position = this.#operations.positionOf(number ?? 0, decision.revision)
      results.push(resultKind.appended, decision.revision, position)
    }
  }

  #revisionOf(number: number, name: string): number {
    this.transaction.flush() // the events that this transaction appended to the stream count too
    const revision = this.#lastRevision.get(number)
    if (typeof revision !== 'number')
      throw new BrokenLogError(`${name} is registered as stream ${number} but has no events`)
    return revision
  }
}
