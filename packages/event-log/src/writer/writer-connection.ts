import { Worker } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { openForAppending } from '../file/log-file.js'
import { LogTransaction } from '../file/log-transaction.js'
import { Appender } from './batch-appender.js'
import { WriteTurn } from './write-turn.js'

/** UTF-16 units or bytes of events written since the last checkpoint. */
const checkpointEvery = 8 * 1024 * 1024
const checkpointWithinMs = 250
/** With more pages in the WAL this thread copies the rest itself, so that SQLite can start the file over. */
const walPages = 4_096

interface Open {
  readonly db: Database
  readonly turn: WriteTurn
  readonly transaction: LogTransaction
  readonly appender: Appender
}

/** The writer thread's connection to the log, opened by its first transaction, and the copying of its WAL into the file. */
export class WriterConnection {
  readonly #directory: string
  #checkpointer: Worker | undefined
  #open: Open | undefined
  #written = 0
  #checkpointing = false
  #timer: NodeJS.Timeout | undefined

  constructor(directory: string) {
    this.#directory = directory
  }

  /**
   * Executes in one transaction, durable when it returns; answers the position of the log's last event. When it throws
   * nothing of it is stored, and the connection is opened anew: after an I/O error its state is not to be trusted.
   */
  transaction(execute: (appender: Appender) => void): number {
    try {
      this.#open ??= this.#opened()
      const { turn, transaction, appender } = this.#open
      turn.begin()
      transaction.begun(Date.now())
      execute(appender)
      return transaction.commit()
    } catch (error) {
      this.#abandon()
      throw error
    }
  }

  /** Counts what was written, and starts a checkpoint when it is due. */
  written(size: number): void {
    this.#written += size
    if (this.#written >= checkpointEvery) this.#checkpoint()
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#checkpoint()
    }, checkpointWithinMs)
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#checkpointer?.terminate()
    this.#open?.db.close()
  }

  #opened(): Open {
    const db = openForAppending(this.#directory)
    const transaction = new LogTransaction(db)
    return { db, turn: new WriteTurn(db, this.#directory), transaction, appender: new Appender(db, transaction) }
  }

  #abandon(): void {
    const failed = this.#open
    this.#open = undefined
    try {
      failed?.db.close() // which rolls back
    } catch {
      // Closing a broken connection may fail as well; the caller is told the first reason.
    }
  }

  /** By a thread of its own: a commit that had to copy the whole WAL would take hundreds of milliseconds. */
  #checkpoint(): void {
    if (this.#checkpointing) return
    this.#checkpointing = true
    this.#written = 0
    this.#checkpointer ??= this.#startedCheckpointer()
    this.#checkpointer.postMessage('checkpoint')
  }

  /** When it is first needed: a command that appends once is done before. */
  #startedCheckpointer(): Worker {
    const workerData = { directory: this.#directory }
    const checkpointer = new Worker(new URL('./wal-checkpointer.js', import.meta.url), { workerData })
    checkpointer.on('message', (pagesInWal: number) => {
      this.#checkpointing = false
      // Under load the WAL always holds pages newer than the checkpoint and would grow for ever. What was written during the
      // checkpoint is little: copying it here, between two commits, takes milliseconds.
      if (pagesInWal > walPages) this.#copyRest()
    })
    return checkpointer
  }

  #copyRest(): void {
    try {
      this.#open?.db.pragma('wal_checkpoint(PASSIVE)')
    } catch {
      // A full disk: the next append meets it too and says so.
    }
  }
}
