import { StoreUnavailableError } from '../event-log-types.js'
import type { CommitWatcher } from './commit-watcher.js'
import type { LogReader } from './log-reader.js'

const namesPerRead = 1_000

type Listener = (position: number) => void

/**
 * Notifies subscribers of single streams of new events. It reads the log once for all of them: with hundreds of subscriptions,
 * separate reads would cost more than the appends.
 */
export class StreamActivity {
  readonly #listeners = new Map<string, Set<Listener>>()
  #seen = 0
  #reading: AbortController | undefined
  #isClosed = false

  constructor(
    private readonly reader: LogReader,
    private readonly commits: CommitWatcher,
  ) {}

  /** Calls `listener` for each new event of the stream or its metadata. Returns a function that removes the listener. */
  listen(stream: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(stream) ?? new Set()
    this.#listeners.set(stream, listeners.add(listener))
    if (this.#reading === undefined) {
      this.#seen = this.reader.lastPosition()
      this.#reading = new AbortController()
      void this.#read(this.#reading.signal)
    }
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(stream) === listeners) this.#listeners.delete(stream)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  /**
   * Resolves when the stream has an event after the position, or when the signal aborts.
   * @throws StoreUnavailableError if the log is closed
   */
  waitForEvent(stream: string, position: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return resolve()
      if (this.#isClosed) return reject(new StoreUnavailableError('the event store is closed'))
      const done = () => {
        stop()
        signal.removeEventListener('abort', done)
        if (this.#isClosed) reject(new StoreUnavailableError('the event store is closed'))
        else resolve()
      }
      const stop = this.listen(stream, (found) => {
        if (found > position) done()
      })
      signal.addEventListener('abort', done)
      // Check for events between the caller's last read and now.
      if (this.reader.hasEventAfter(stream, position)) done()
    })
  }

  /** Ends all waits. */
  close(): void {
    this.#isClosed = true
    for (const name of [...this.#listeners.keys()]) this.#notify(name, Number.POSITIVE_INFINITY)
    this.#stop()
  }

  #stop(): void {
    this.#reading?.abort()
    this.#reading = undefined
  }

  async #read(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.commits.waitForCommit(this.#seen, signal)
        if (signal.aborted) return
        for (const [position, name] of this.reader.streamNamesAfter(this.#seen, namesPerRead)) {
          this.#seen = position
          this.#notify(name, position)
          if (name.startsWith('$$')) this.#notify(name.slice(2), position)
        }
      } catch {
        if (signal.aborted) return
        // The log is currently unreadable: try again. When it is closed, no listener remains and the signal has aborted.
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }

  #notify(name: string, position: number): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener(position)
  }
}
