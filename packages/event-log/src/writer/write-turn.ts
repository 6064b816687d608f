import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database, Statement } from 'better-sqlite3'

/** How often a writer that waits for another process's commit looks again. Shorter than the time for which the other steps aside. */
const retryMs = 0.5
const stepAsideMs = 3
/** Waiting this long, it asks the other to step aside. */
const askAfterMs = 4
/** A request older than this was left by a process that died. */
const staleMs = 2_000
const giveUpMs = 10_000

const sleeper = new Int32Array(new SharedArrayBuffer(4))

function sleep(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms)
}

/**
 * Takes the write lock of the log, fairly between processes. SQLite's own busy handler backs off to 100 ms, while a
 * process under load lets go of the lock for microseconds only: the other would starve. So a writer that has waited a
 * while leaves a file, and a writer that finds one steps aside before its next transaction.
 */
export class WriteTurn {
  readonly #begin: Statement<[]>
  readonly #request: string

  constructor(db: Database, directory: string) {
    // begin() waits by itself. SQLite waits when the log is opened, for another process that recovers it after a crash.
    db.pragma('busy_timeout = 0')
    this.#begin = db.prepare<[]>('BEGIN IMMEDIATE')
    this.#request = join(directory, 'events.db-turn')
  }

  /** @throws SqliteError SQLITE_BUSY after ten seconds */
  begin(): void {
    this.#stepAside()
    const startedAt = performance.now()
    let asked = false
    for (;;) {
      try {
        this.#begin.run()
        if (asked) rmSync(this.#request, { force: true })
        return
      } catch (error) {
        const waitedMs = performance.now() - startedAt
        if (!isBusy(error) || waitedMs > giveUpMs) throw error
        if (waitedMs > askAfterMs) {
          writeFileSync(this.#request, '')
          asked = true
        }
        sleep(retryMs)
      }
    }
  }

  #stepAside(): void {
    const request = statSync(this.#request, { throwIfNoEntry: false })
    if (request === undefined) return
    if (Date.now() - request.mtimeMs > staleMs) rmSync(this.#request, { force: true })
    else sleep(stepAsideMs)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}
