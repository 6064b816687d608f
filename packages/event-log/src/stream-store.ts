import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EventContent, encodeBody } from './file/event-body.js'
import { prepareLog } from './file/log-file.js'
import type { ProcessLock } from './file/process-lock.js'
import { Log } from './log.js'
import type { LogReader } from './reader/log-reader.js'
import { Activity } from './reader/stream-activity.js'
import type { Expected } from './writer/stream-rules.js'
import type { Outcome } from './writer/writer-client.js'
import { WriterHost } from './writer/writer-host.js'

/**
 * The embedded log with everything EventStoreDB's protocol shows of one: streams that can be deleted, described and
 * truncated, appends that name no revision, content of any kind. The service itself uses the narrower `EventLog`.
 */
export class StreamStore {
  readonly reader: LogReader
  readonly activity: Activity
  readonly #log: Log
  readonly #host: WriterHost
  readonly #dispose: () => void
  #isClosed = false

  /** @throws CannotOpenLogError */
  static open(directory: string): StreamStore {
    return new StreamStore(directory, () => {})
  }

  /** A log in a directory of its own, in memory where the system has such a place; gone when it is closed. */
  static openTemporary(): StreamStore {
    let directory: string
    try {
      directory = mkdtempSync('/dev/shm/transferd-')
    } catch {
      directory = mkdtempSync(join(tmpdir(), 'transferd-'))
    }
    return new StreamStore(directory, () => rmSync(directory, { recursive: true, force: true }))
  }

  private constructor(directory: string, dispose: () => void) {
    this.#dispose = dispose
    prepareLog(directory)
    this.#log = new Log(directory)
    this.reader = this.#log.reader
    this.activity = new Activity(this.reader, this.#log.commits)
    this.#host = new WriterHost(directory, this.#log.client)
  }

  /** @throws StoreUnavailableError */
  append(stream: string, expected: Expected, events: readonly EventContent[]): Promise<Outcome> {
    return this.#log.client.execute({ kind: 'append', stream, expected, bodies: events.map(encodeBody) })
  }

  /** Hides all events there are; the next append brings the stream back without them. @throws StoreUnavailableError */
  delete(stream: string, expected: Expected): Promise<Outcome> {
    return this.#log.client.execute({ kind: 'delete', stream, expected })
  }

  /** Ends a stream for ever. @throws StoreUnavailableError */
  tombstone(stream: string, expected: Expected): Promise<Outcome> {
    return this.#log.client.execute({ kind: 'tombstone', stream, expected })
  }

  /** Returns when the log has an event behind `position`, or the signal aborts. */
  waitForCommit(position: number, signal: AbortSignal): Promise<void> {
    return this.#log.commits.beyond(position, signal)
  }

  /** Undefined when another holder, of this process or another one, has the lock of this name. */
  tryLock(name: string): ProcessLock | undefined {
    return this.#log.tryLock(name)
  }

  isLocked(name: string): boolean {
    return this.#log.isLocked(name)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.activity.close()
    await this.#log.close()
    await this.#host.close()
    this.#dispose()
  }
}
