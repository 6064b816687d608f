import type { Database, Statement } from 'better-sqlite3'
import type { Body } from './event-body.js'
import { RowInserter } from './row-inserter.js'
import { type MergeSizes, StreamNameMerge } from './stream-name-merge.js'
import { StreamNumbers } from './stream-numbers.js'

type EventRow = [position: number, stream: number, revision: number, recordedAtMs: number, name: string, body: Body]

/** One transaction after the other on a writer's connection. After a failure nothing is rolled back here: the connection is replaced. */
export class LogTransaction {
  readonly numbers: StreamNumbers
  /** Of the last event, including those of the current transaction. */
  position = -1
  /** When the current transaction began: the time of its events. */
  nowMs = 0
  readonly #rows: RowInserter<EventRow>
  readonly #merge: StreamNameMerge
  readonly #lastPosition: Statement<[], number | null>
  readonly #commit: Statement<[]>
  #merged: (() => void) | undefined

  constructor(db: Database, sizes?: MergeSizes) {
    this.numbers = new StreamNumbers(db)
    this.#rows = new RowInserter(db, 'INSERT INTO events', 6)
    this.#merge = new StreamNameMerge(db, this.numbers, sizes)
    this.#lastPosition = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck()
    this.#commit = db.prepare<[]>('COMMIT')
  }

  /** Call it when the write lock is held (after BEGIN IMMEDIATE): another process may have appended since the last time. */
  begun(nowMs: number): void {
    this.nowMs = nowMs
    const position = this.#lastPosition.get() ?? 0
    if (position !== this.position) this.numbers.refresh()
    this.position = position
    this.#merged = this.#merge.step()
  }

  /** Appends events to a stream; it gets its number now when it has none. Statements see them after {@link flush}. */
  write(name: string, number: number | undefined, firstRevision: number, bodies: readonly Body[]): void {
    if (bodies.length === 0) return
    const stream = number ?? this.#addStream(name)
    let { position } = this
    let revision = firstRevision
    for (const body of bodies) this.#rows.add(++position, stream, revision++, this.nowMs, name, body)
    this.position = position
  }

  flush(): void {
    this.#rows.flush()
  }

  /** Durable when it returns. Answers the position of the last event. */
  commit(): number {
    this.#rows.flush()
    this.#commit.run()
    this.#merged?.()
    return this.position
  }

  #addStream(name: string): number {
    const number = this.numbers.last + 1
    this.numbers.add(name, number)
    return number
  }
}
