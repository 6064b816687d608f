import type { ExpectedRevision } from './event-log-types.js'
import { type EventContent, encodeBody } from './file/event-body.js'
import { prepareLog } from './file/log-file.js'
import type { ProcessLocks } from './file/process-lock.js'
import { createTemporaryDirectory } from './file/temporary-directory.js'
import { Log } from './log.js'
import type { LogReader } from './reader/log-reader.js'
import type { StreamActivity } from './reader/stream-activity.js'
import type { Outcome } from './writer/writer-client.js'
import { WriterHost } from './writer/writer-host.js'

/**
 * The embedded log with everything that EventStoreDB's protocol exposes: stream deletion, stream metadata, truncation, appends
 * without an expected revision, and content of any kind. The service itself uses the narrower `EventLog`.
 */
export class StreamStore {
  readonly reader: LogReader
  readonly activity: StreamActivity
  readonly locks: ProcessLocks
  readonly #log: Log
  readonly #host: WriterHost
  #isClosed = false

  /** @throws CannotOpenLogError */
  static open(directory: string): StreamStore {
    return new StreamStore(directory, () => {})
  }

  /** Opens a log in a new directory, in memory where the system supports that. Closing the store deletes the directory. */
  static openTemporary(): StreamStore {
    const { path, remove } = createTemporaryDirectory()
    return new StreamStore(path, remove)
  }

  private constructor(
    directory: string,
    private readonly dispose: () => void,
  ) {
    prepareLog(directory)
    this.#log = new Log(directory)
    this.reader = this.#log.reader
    this.activity = this.#log.activity
    this.locks = this.#log.locks
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
    await this.#log.close()
    await this.#host.close()
    this.dispose()
  }
}
