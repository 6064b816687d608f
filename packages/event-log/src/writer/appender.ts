import type { Database, Statement } from 'better-sqlite3'
import { BrokenLogError } from '../file/log-file.js'
import { LogTransaction } from '../file/log-transaction.js'
import { RowInserter } from '../file/row-inserter.js'
import type { StreamNumbers } from '../file/stream-numbers.js'
import { judgeAppend, noRevision } from './append-rules.js'
import { answered, type Batch, idInBody } from './messages.js'

/** Reads a batch from front to back. */
class Cursor {
  #at = 0
  constructor(readonly batch: Batch) {}

  get done(): boolean {
    return this.#at >= this.batch.length
  }

  text(): string {
    const value = this.batch[this.#at++]
    if (typeof value !== 'string') throw new TypeError(`a batch holds ${typeof value} where text belongs`)
    return value
  }

  count(): number {
    const value = this.batch[this.#at++]
    if (typeof value !== 'number') throw new TypeError(`a batch holds ${typeof value} where a number belongs`)
    return value
  }
}

type EventRow = [position: number, stream: number, revision: number, recordedAtMs: number, name: string, body: string]

/** Appends batches on one connection, several of them in one transaction: that is the group commit. */
export class Appender {
  readonly #transaction: LogTransaction
  readonly #numbers: StreamNumbers
  readonly #rows: RowInserter<EventRow>
  readonly #lastRevision: Statement<[number], number | null>
  readonly #idsFrom: Statement<[number, number, number], string>
  readonly #positionOf: Statement<[number, number], number>

  constructor(db: Database) {
    this.#transaction = new LogTransaction(db)
    this.#numbers = this.#transaction.numbers
    this.#rows = new RowInserter(db, 'INSERT INTO events', 6)
    this.#lastRevision = db
      .prepare<[number], number | null>('SELECT max(revision) FROM events WHERE stream = ?')
      .pluck()
    this.#idsFrom = db
      .prepare<[number, number, number], string>(
        `SELECT substr(body, ${idInBody.from + 1}, ${idInBody.length}) FROM events
         WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?`,
      )
      .pluck()
    this.#positionOf = db
      .prepare<[number, number], number>('SELECT position FROM events WHERE stream = ? AND revision = ?')
      .pluck()
  }

  begun(nowMs: number): void {
    this.#transaction.begun(nowMs)
  }

  /** The answers to a batch, {@link answerLength} numbers for each of its appends. */
  append(batch: Batch): number[] {
    const cursor = new Cursor(batch)
    const answers: number[] = []
    while (!cursor.done) {
      let refused = false
      for (let left = cursor.count(); left > 0; left--) {
        const kind = this.#one(cursor, answers, refused)
        refused ||= kind === answered.refused
      }
    }
    return answers
  }

  commit(): number {
    this.#rows.flush()
    return this.#transaction.commit()
  }

  rollback(): void {
    this.#rows.clear()
    this.#transaction.rollback()
  }

  #one(cursor: Cursor, answers: number[], skip: boolean): number {
    const name = cursor.text()
    const expected = cursor.count()
    const bodies: string[] = []
    for (let left = cursor.count(); left > 0; left--) bodies.push(cursor.text())
    if (skip) {
      answers.push(answered.notTried, 0, 0)
      return answered.notTried
    }
    const number = this.#numbers.find(name)
    // What this transaction has appended to the stream counts too.
    if (number !== undefined) this.#rows.flush()
    const current = number === undefined ? noRevision : this.#revisionOf(number, name)
    const verdict = judgeAppend(expected, current, bodies.length, (from) => this.#holdsIds(number ?? 0, from, bodies))
    switch (verdict) {
      case 'append':
        this.#write(name, number, current, bodies)
        // No events on no stream: EventStoreDB answers 0, not -1.
        answers.push(answered.appended, Math.max(0, current + bodies.length), this.#transaction.position)
        return answered.appended
      case 'already_done':
        answers.push(answered.appended, expected + bodies.length, this.#at(number ?? 0, expected + bodies.length))
        return answered.appended
      case 'refuse':
        answers.push(answered.refused, current, 0)
        return answered.refused
      default:
        return verdict satisfies never
    }
  }

  #revisionOf(number: number, name: string): number {
    const revision = this.#lastRevision.get(number)
    if (typeof revision !== 'number') throw new BrokenLogError(`${name} is known as stream ${number} but has no events`)
    return revision
  }

  #holdsIds(number: number, from: number, bodies: readonly string[]): boolean {
    const stored = this.#idsFrom.all(number, from, bodies.length)
    return bodies.every((body, i) => body.slice(idInBody.from, idInBody.from + idInBody.length) === stored[i])
  }

  #at(number: number, revision: number): number {
    const position = this.#positionOf.get(number, revision)
    if (position === undefined) throw new BrokenLogError(`stream ${number} has no event ${revision}`)
    return position
  }

  #write(name: string, known: number | undefined, current: number, bodies: readonly string[]): void {
    if (bodies.length === 0) return
    const number = known ?? this.#transaction.addStream(name)
    const { nowMs } = this.#transaction
    let { position } = this.#transaction
    let revision = current
    for (const body of bodies) {
      position += 1
      revision += 1
      this.#rows.add(position, number, revision, nowMs, name, body)
    }
    this.#transaction.position = position
  }
}
