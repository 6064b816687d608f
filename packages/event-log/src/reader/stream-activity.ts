import type { Commits } from './commit-watcher.js'
import type { LogReader } from './log-reader.js'

const namesAtOnce = 1_000

type Listener = (position: number) => void

/**
 * Tells who waits for one stream that it has a new event. The log is looked at once for all of them: with hundreds of
 * subscriptions, each looking for itself would cost more than the appends.
 */
export class Activity {
  readonly #reader: LogReader
  readonly #commits: Commits
  readonly #listeners = new Map<string, Set<Listener>>()
  #seen = 0
  #pumping: AbortController | undefined

  constructor(reader: LogReader, commits: Commits) {
    this.#reader = reader
    this.#commits = commits
  }

  /** Calls `listener` whenever the stream, or its metadata, has an event behind what the log holds now. */
  listen(stream: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(stream) ?? new Set()
    this.#listeners.set(stream, listeners.add(listener))
    if (this.#pumping === undefined) {
      this.#seen = this.#reader.lastPosition()
      this.#pumping = new AbortController()
      void this.#pump(this.#pumping.signal)
    }
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(stream) === listeners) this.#listeners.delete(stream)
      if (this.#listeners.size === 0) this.close()
    }
  }

  /** Returns when the stream has an event behind the position, or the signal aborts. */
  next(stream: string, position: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const done = () => {
        stop()
        signal.removeEventListener('abort', done)
        resolve()
      }
      const stop = this.listen(stream, (at) => {
        if (at > position) done()
      })
      signal.addEventListener('abort', done)
      // What came between the caller's look at the log and this one.
      if (this.#reader.hasEventBehind(stream, position)) done()
    })
  }

  close(): void {
    this.#pumping?.abort()
    this.#pumping = undefined
  }

  async #pump(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#commits.beyond(this.#seen, signal)
        if (signal.aborted) return
        for (const [position, name] of this.#reader.namesBehind(this.#seen, namesAtOnce)) {
          this.#seen = position
          this.#tell(name, position)
          if (name.startsWith('$$')) this.#tell(name.slice(2), position)
        }
      } catch {
        if (signal.aborted) return
        // The log cannot be read just now. When it is closed, nobody listens any more.
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }

  #tell(name: string, position: number): void {
    const listeners = this.#listeners.get(name)
    if (listeners !== undefined) for (const listener of [...listeners]) listener(position)
  }
}
