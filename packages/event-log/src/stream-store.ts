import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExpectedRevision } from './event-log-types.js'
import { type EventContent, encodeBody } from './file/event-body.js'
import { prepareLog } from './file/log-file.js'
import { Log } from './log.js'
import type { LogReader } from './reader/log-reader.js'
import { StreamActivity } from './reader/stream-activity.js'
import type { Outcome } from './writer/writer-client.js'
import { WriterHost } from './writer/writer-host.js'

/**
 * The embedded log with everything that EventStoreDB's protocol exposes: stream deletion, stream metadata, truncation, appends
 * without an expected revision, and content of any kind. The service itself uses the narrower `EventLog`.
 */
export class StreamStore {
  readonly reader: LogReader
  readonly activity: StreamActivity
  readonly #log: Log
  readonly #host: WriterHost
  #isClosed = false

  /** @throws CannotOpenLogError */
  static open(directory: string): StreamStore {
    return new StreamStore(directory, () => {})
  }

  /** Opens a log in a new directory, in memory where the system supports that. Closing the store deletes the directory. */
  static openTemporary(): StreamStore {
    let directory: string
    try {
      directory = mkdtempSync('/dev/shm/transferd-')
    } catch {
      directory = mkdtempSync(join(tmpdir(), 'transferd-'))
    }
    return new StreamStore(directory, () => rmSync(directory, { recursive: true, force: true }))
  }

  private constructor(
    readonly directory: string,
    private readonly dispose: () => void,
  ) {
    prepareLog(directory)
    this.#log = new Log(directory)
    this.reader = this.#log.reader
    this.activity = new StreamActivity(this.reader, this.#log.commits)
    this.#host = new WriterHost(directory, this.#log.client)
  }

  /** @throws StoreUnavailableError */
  append(stream: string, expected: ExpectedRevision, events: readonly EventContent[]): Promise<Outcome> {
    return this.#log.client.execute({ kind: 'append', stream, expected, bodies: events.map(encodeBody) })
  }

  /** Hides the stream's events. The next append recreates the stream without them. @throws StoreUnavailableError */
  delete(stream: string, expected: ExpectedRevision): Promise<Outcome> {
    return this.#log.client.execute({ kind: 'delete', stream, expected })
  }

  /** Ends a stream permanently. @throws StoreUnavailableError */
  tombstone(stream: string, expected: ExpectedRevision): Promise<Outcome> {
    return this.#log.client.execute({ kind: 'tombstone', stream, expected })
  }

  /** Resolves when the log has an event after `position`, or when the signal aborts. */
  waitForCommit(position: number, signal: AbortSignal): Promise<void> {
    return this.#log.commits.waitForCommit(position, signal)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.activity.close()
    await this.#log.close()
    await this.#host.close()
    this.dispose()
  }
}
