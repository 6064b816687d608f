import { StoreUnavailableError } from '../types.js'

/** How often the log is looked at for what other processes have appended. */
const pollMs = 40

interface Waiter {
  readonly after: number
  readonly settle: (error?: Error) => void
}

/** Wakes up those who wait for the log to grow: told by the process's own writer, or by looking for other processes' appends. */
export class Commits {
  readonly #lastPosition: () => number
  #committed = 0
  #waiters = new Set<Waiter>()
  #poll: NodeJS.Timeout | undefined
  #closed = false

  constructor(lastPosition: () => number) {
    this.#lastPosition = lastPosition
  }

  committed(position: number): void {
    if (position <= this.#committed) return
    this.#committed = position
    for (const waiter of this.#waiters) if (position > waiter.after) waiter.settle()
  }

  /** Returns when the log has an event behind `after`, or the signal aborts. @throws StoreUnavailableError when closed meanwhile */
  async beyond(after: number, signal: AbortSignal): Promise<void> {
    if (this.#closed) throw new StoreUnavailableError('the event store is closed')
    if (signal.aborted || this.#committed > after) return
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error) => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', aborted)
        if (this.#waiters.size === 0) {
          clearInterval(this.#poll)
          this.#poll = undefined
        }
        if (error === undefined) resolve()
        else reject(error)
      }
      const aborted = () => settle()
      const waiter: Waiter = { after, settle }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', aborted)
      this.#poll ??= setInterval(() => this.#look(), pollMs)
    })
  }

  close(): void {
    this.#closed = true
    for (const waiter of this.#waiters) waiter.settle(new StoreUnavailableError('the event store is closed'))
  }

  #look(): void {
    try {
      this.committed(this.#lastPosition())
    } catch {
      // The log cannot be read just now: whoever waits is woken by a later look.
    }
  }
}
