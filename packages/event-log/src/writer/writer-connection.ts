import { Worker } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { openForAppending } from '../file/log-file.js'
import { LogTransaction } from '../file/log-transaction.js'
import { BatchAppender } from './batch-appender.js'
import { WriteTurn } from './write-turn.js'

/** The UTF-16 units or bytes of events between two checkpoints. */
const checkpointEvery = 8 * 1024 * 1024
const checkpointWithinMs = 250
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

  constructor(private readonly directory: string) {}

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
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#checkpoint()
    }, checkpointWithinMs)
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#checkpointer?.terminate()
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
    this.#isCheckpointing = true
    this.#sizeWritten = 0
    // Start the thread only now: a command that appends once ends before it is needed.
    this.#checkpointer ??= this.#startCheckpointer()
    this.#checkpointer.postMessage('checkpoint')
  }

  #startCheckpointer(): Worker {
    const workerData = { directory: this.directory }
    const checkpointer = new Worker(new URL('./wal-checkpointer.js', import.meta.url), { workerData })
    checkpointer.on('message', (pagesInWal: number) => {
      this.#isCheckpointing = false
      // Under load, the WAL always has pages newer than the checkpoint and would grow forever. The pages written during the
      // checkpoint are few, so copying them here, between two commits, takes milliseconds.
      if (pagesInWal > maxWalPages) this.#copyRest()
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
