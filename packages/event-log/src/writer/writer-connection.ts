import { once } from 'node:events'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { idOfBody } from '../file/event-body.js'
import { openForAppending } from '../file/log-file.js'
import { BrokenLogError } from '../file/log-location.js'
import { LogTransaction } from '../file/log-transaction.js'
import type { ReservedKeys } from '../file/reserved-keys.js'
import { tombstoneRevision } from '../file/stream-metadata.js'
import type { Database, Statement } from '../sqlite/sqlite.js'
import { StreamOperations } from './stream-operations.js'
import { decideExactAppend } from './stream-rules.js'
import type { Checkpointed } from './wal-checkpointer.js'
import { type Batch, decodeExpected, noRevision, resultKind, resultLength } from './writer-messages.js'

/** The pause between attempts to take the lock. It is shorter than the time for which another writer steps aside. */
const retryMs = 0.5
const stepAsideMs = 3
/** The wait after which a writer requests that the other one steps aside. */
const requestAfterMs = 4
/** The age at which a request counts as left over from a dead process. */
const staleMs = 2_000
const giveUpMs = 10_000

const sleeper = new Int32Array(new SharedArrayBuffer(4))

function sleep(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms)
}

/**
 * Takes the log's write lock fairly between processes. SQLite's own busy handler backs off to 100 ms, while a process under load
 * releases the lock for microseconds only, so other processes would starve. Therefore a writer that has waited for some time creates
 * a request file, and a writer that finds one steps aside before its next transaction.
 */
class WriteTurn {
  readonly #begin: Statement<[]>
  readonly #requestFile: string

  constructor(db: Database, directory: string) {
    // begin() does its own waiting. While the log is opened, SQLite waits for another process that recovers it after a crash.
    db.pragma('busy_timeout = 0')
    this.#begin = db.prepare<[]>('BEGIN IMMEDIATE')
    this.#requestFile = join(directory, 'events.db-turn')
  }

  /** @throws SqliteError SQLITE_BUSY after ten seconds */
  begin(): void {
    this.#stepAside()
    const startedAt = performance.now()
    let hasRequested = false
    for (;;) {
      try {
        this.#begin.run()
        if (hasRequested) rmSync(this.#requestFile, { force: true })
        return
      } catch (error) {
        const waitedMs = performance.now() - startedAt
        if (!isBusy(error) || waitedMs > giveUpMs) throw error
        if (waitedMs > requestAfterMs) {
          writeFileSync(this.#requestFile, '')
          hasRequested = true
        }
        sleep(retryMs)
      }
    }
  }

  #stepAside(): void {
    const request = statSync(this.#requestFile, { throwIfNoEntry: false })
    if (request === undefined) return
    // The clock can have been set back since.
    if (Math.abs(Date.now() - request.mtimeMs) > staleMs) rmSync(this.#requestFile, { force: true })
    else sleep(stepAsideMs)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}

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

  texts(count: number): readonly string[] {
    return Array.from({ length: count }, () => this.text())
  }

  number(): number {
    const value = this.next()
    if (typeof value !== 'number') throw new TypeError(`a batch has a ${typeof value} instead of a number`)
    return value
  }
}

/**
 * Writes batches. Several of them in one transaction form a group commit. Appends at a revision ignore stream metadata, so they only
 * look up the last revision.
 */
class BatchAppender {
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
      const [events, keyCount] = [reader.number(), reader.number()]
      for (let left = events; left > 0; left--) bodies.push(reader.text())
      const reserved = keyCount > 0 ? { owner: reader.text(), keys: reader.texts(keyCount) } : undefined
      if (isRejected) results.push(resultKind.notTried, 0, 0)
      else this.#append(name, expected, bodies, reserved, results)
      isRejected ||= results[results.length - resultLength] !== resultKind.appended
    }
  }

  #append(
    name: string,
    expected: number,
    bodies: readonly string[],
    reserved: ReservedKeys | undefined,
    results: number[],
  ): void {
    if (expected < noRevision) {
      this.#appendByState(name, expected, bodies, results)
      return
    }
    const number = this.transaction.numbers.find(name)
    const current = number === undefined ? noRevision : this.#revisionOf(number, name)
    if (current === tombstoneRevision) {
      results.push(resultKind.deleted, 0, 0)
      return
    }
    if (expected === current) {
      if (reserved && this.transaction.isReserved(reserved)) {
        results.push(resultKind.reserved, 0, 0)
        return
      }
      this.transaction.write(name, number, current + 1, bodies, reserved?.keys)
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

  /** Appends to a stream that must exist, or to any stream, with EventStoreDB's rules for deleted streams and repeated ids. */
  #appendByState(stream: string, expected: number, bodies: readonly string[], results: number[]): void {
    const append = { kind: 'append', stream, expected: decodeExpected(expected), bodies } as const
    const [kind, revision, position] = this.#operations.execute(append)
    // The position of an event that is hidden now is omitted for clients of the protocol only.
    const isHidden = kind === resultKind.appended && position === 0 && bodies.length > 0
    const number = isHidden ? this.transaction.numbers.find(stream) : undefined
    results.push(kind, revision, number === undefined ? position : this.#operations.positionOf(number, revision))
  }

  #revisionOf(number: number, name: string): number {
    this.transaction.flush() // the events that this transaction appended to the stream count too
    const revision = this.#lastRevision.get(number)
    if (typeof revision !== 'number')
      throw new BrokenLogError(`${name} is registered as stream ${number} but has no events`)
    return revision
  }
}

/** The UTF-16 units or bytes of events between two checkpoints. */
const checkpointEvery = 8 * 1024 * 1024
const checkpointWithinMs = 250
/** The pause between attempts to cut a WAL that is being read. */
const cutAgainMs = 1_000
/** The number of WAL pages above which this thread copies the rest itself, so that SQLite can restart the file. */
const maxWalPages = 4_096

interface Connection {
  readonly db: Database
  readonly turn: WriteTurn
  readonly transaction: LogTransaction
  readonly appender: BatchAppender
}

/** The writer thread's connection to the log, opened by the first transaction. It also has the WAL copied into the file. */
export class WriterConnection {
  #checkpointer: Worker | undefined
  #connection: Connection | undefined
  #sizeWritten = 0
  #isCheckpointing = false
  #timer: NodeJS.Timeout | undefined
  #isClosing = false

  /** @param hasCheckpointer whether another thread copies the WAL; without it, this one does, when it has become large */
  constructor(
    private readonly directory: string,
    private readonly hasCheckpointer: boolean,
  ) {}

  /**
   * Executes a transaction durably and returns the position of the log's last event. If it throws, it stores nothing and reopens the
   * connection, whose state is unreliable after an I/O error.
   */
  transaction(execute: (appender: BatchAppender) => void): number {
    try {
      this.#connection ??= this.#connect()
      const { turn, transaction, appender } = this.#connection
      turn.begin()
      transaction.begin(Date.now())
      execute(appender)
      return transaction.commit()
    } catch (error) {
      this.#disconnect()
      throw error
    }
  }

  /** Counts the written size and starts a checkpoint when one is due. */
  addWritten(size: number): void {
    this.#sizeWritten += size
    if (this.#sizeWritten >= checkpointEvery) this.#checkpoint()
    if (this.hasCheckpointer) this.#checkpointAfter(checkpointWithinMs)
  }

  #checkpointAfter(ms: number): void {
    if (this.#isClosing) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#checkpoint()
    }, ms)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    // To terminate the thread while SQLite works in it can abort the process.
    this.#checkpointer?.postMessage('close')
    if (this.#checkpointer) await once(this.#checkpointer, 'exit')
    this.#connection?.db.close()
  }

  #connect(): Connection {
    const db = openForAppending(this.directory)
    const transaction = new LogTransaction(db)
    return { db, turn: new WriteTurn(db, this.directory), transaction, appender: new BatchAppender(db, transaction) }
  }

  #disconnect(): void {
    const failed = this.#connection
    this.#connection = undefined
    try {
      failed?.db.close() // this rolls back
    } catch {
      // Closing a broken connection may fail as well. The caller receives the first error.
    }
  }

  /** Starts a checkpoint in another thread: a commit that had to copy the whole WAL would take hundreds of milliseconds. */
  #checkpoint(): void {
    if (this.#isCheckpointing) return
    this.#sizeWritten = 0
    if (!this.hasCheckpointer) {
      this.#copyRest()
      return
    }
    this.#isCheckpointing = true
    // Start the thread only now: a command that appends once ends before it is needed.
    this.#checkpointer ??= this.#startCheckpointer()
    this.#checkpointer.postMessage('checkpoint')
  }

  #startCheckpointer(): Worker {
    const workerData = { directory: this.directory }
    const checkpointer = new Worker(new URL('./wal-checkpointer.js', import.meta.url), { workerData })
    checkpointer.on('message', ({ pages, isTooLarge }: Checkpointed) => {
      this.#isCheckpointing = false
      // Under load, the WAL always has pages newer than the checkpoint and would grow forever. The pages written during the
      // checkpoint are few, so copying them here, between two commits, takes milliseconds.
      if (pages > maxWalPages) this.#copyRest()
      // The long read can end after the last append.
      if (isTooLarge) this.#checkpointAfter(cutAgainMs)
    })
    return checkpointer
  }

  #copyRest(): void {
    try {
      this.#connection?.db.pragma('wal_checkpoint(PASSIVE)')
    } catch {
      // The disk is full: the next append fails too and reports it.
    }
  }
}
