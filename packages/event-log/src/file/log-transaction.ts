import type { Database, Statement } from '../sqlite/sqlite.js'
import type { Body } from './event-body.js'
import type { ReservedKeys } from './reserved-keys.js'
import { RowInserter } from './row-inserter.js'
import { type MergeSizes, StreamNameMerge } from './stream-name-merge.js'
import { StreamNumbers } from './stream-numbers.js'

type EventRow = [position: number, stream: number, revision: number, recordedAtMs: number, name: string, body: Body]

/** Runs one transaction at a time on a writer's connection. It never rolls back: after a failure, the connection is replaced. */
export class LogTransaction {
  readonly numbers: StreamNumbers
  /** The position of the last event, including the events of the current transaction. */
  position = -1
  /** The start time of the current transaction, recorded with its events. */
  nowMs = 0
  readonly #rows: RowInserter<EventRow>
  readonly #merge: StreamNameMerge
  readonly #lastPosition: Statement<[], number | null>
  readonly #commit: Statement<[]>
  #onMergeCommitted: (() => void) | undefined
  readonly #flush = () => this.flush()

  constructor(db: Database, sizes?: MergeSizes) {
    this.numbers = new StreamNumbers(db, true)
    this.#rows = new RowInserter(db, 'INSERT INTO events', 6)
    this.#merge = new StreamNameMerge(db, this.numbers, sizes)
    this.#lastPosition = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck()
    this.#commit = db.prepare<[]>('COMMIT')
  }

  /** Prepares a transaction. Call it after BEGIN IMMEDIATE, because another process may have appended in the meantime. */
  begin(nowMs: number): void {
    this.nowMs = nowMs
    const position = this.#lastPosition.get() ?? 0
    if (position !== this.position) this.numbers.refresh()
    this.position = position
    this.#onMergeCommitted = this.#merge.step()
  }

  /** Returns whether one of the keys belongs to a different owner. */
  isReserved({ keys, owner }: ReservedKeys): boolean {
    return keys.some((key) => (this.numbers.ownerOf(key, this.#flush) ?? owner) !== owner)
  }

  /**
   * Appends events to a stream and assigns a number to a new stream, which the keys then name too. Statements see the events after
   * {@link flush}.
   */
  write(
    name: string,
    number: number | undefined,
    firstRevision: number,
    bodies: readonly Body[],
    keys?: readonly string[],
  ): void {
    if (bodies.length === 0) return
    const stream = number ?? this.#addStream(name, keys)
    let { position } = this
    let revision = firstRevision
    for (const body of bodies) this.#rows.add(++position, stream, revision++, this.nowMs, name, body)
    this.position = position
  }

  flush(): void {
    this.#rows.flush()
  }

  /** Commits durably and returns the position of the last event. */
  commit(): number {
    this.#rows.flush()
    this.#commit.run()
    this.#onMergeCommitted?.()
    return this.position
  }

  #addStream(name: string, keys: readonly string[] | undefined): number {
    const number = this.numbers.last + 1
    this.numbers.add(name, number, keys)
    return number
  }
}
