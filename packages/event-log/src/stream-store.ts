import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EventContent, encodeBody } from './file/event-body.js'
import { prepareLog } from './file/log-file.js'
import { isProcessLocked, type ProcessLock, tryProcessLock } from './file/process-lock.js'
import { Activity } from './reader/activity.js'
import { Commits } from './reader/commits.js'
import { StreamReader } from './reader/stream-reader.js'
import type { Expected } from './writer/stream-rules.js'
import { type Outcome, WriterClient } from './writer/writer-client.js'
import { WriterHost } from './writer/writer-host.js'

/**
 * The embedded log with everything EventStoreDB's protocol shows of one: streams that can be deleted, described and
 * truncated, appends that name no revision, content of any kind. The service itself uses the narrower `EventLog`.
 */
export class StreamStore {
  readonly reader: StreamReader
  readonly activity: Activity
  readonly #directory: string
  readonly #commits: Commits
  readonly #client: WriterClient
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
    this.#directory = directory
    this.#dispose = dispose
    prepareLog(directory)
    this.reader = new StreamReader(directory)
    this.#commits = new Commits(() => this.reader.lastPosition())
    this.activity = new Activity(this.reader, this.#commits)
    this.#client = new WriterClient((position) => this.#commits.committed(position))
    this.#host = new WriterHost(directory, this.#client)
  }

  /** @throws StoreUnavailableError */
  append(stream: string, expected: Expected, events: readonly EventContent[]): Promise<Outcome> {
    return this.#client.execute({ kind: 'append', stream, expected, bodies: events.map(encodeBody) })
  }

  /** Hides all events there are; the next append brings the stream back without them. @throws StoreUnavailableError */
  delete(stream: string, expected: Expected): Promise<Outcome> {
    return this.#client.execute({ kind: 'delete', stream, expected })
  }

  /** Ends a stream for ever. @throws StoreUnavailableError */
  tombstone(stream: string, expected: Expected): Promise<Outcome> {
    return this.#client.execute({ kind: 'tombstone', stream, expected })
  }

  /** Returns when the log has an event behind `position`, or the signal aborts. */
  waitForCommit(position: number, signal: AbortSignal): Promise<void> {
    return this.#commits.beyond(position, signal)
  }

  /** Undefined when another holder, of this process or another one, has the lock of this name. */
  tryLock(name: string): ProcessLock | undefined {
    return tryProcessLock(this.#directory, name)
  }

  isLocked(name: string): boolean {
    return isProcessLocked(this.#directory, name)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.activity.close()
    this.#commits.close()
    await this.#client.close()
    await this.#host.close()
    this.reader.close()
    this.#dispose()
  }
}
