import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database, Statement } from 'better-sqlite3'

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
export class WriteTurn {
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
    if (Date.now() - request.mtimeMs > staleMs) rmSync(this.#requestFile, { force: true })
    else sleep(stepAsideMs)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}
