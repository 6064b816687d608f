import { type FSWatcher, watch } from 'node:fs'
import { StoreUnavailableError } from '../event-log-types.js'

/** How often the log is looked at for what other processes have appended, while anything is appended at all. */
const pollMs = 40
/** How often while nothing is: then a change of the file wakes, and this finds what it could not tell. */
const idlePollMs = 1_000
/** Looks that find nothing new before the file is watched. */
const watchAfterLooks = 20
/** The watch is trusted from here on: what was being committed as it began has come by now. */
const idleAfterLooks = 25

interface Waiter {
  readonly after: number
  readonly settle: (error?: Error) => void
}

/** Wakes up those who wait for the log to grow: told by the process's own writer, or by looking for other processes' appends. */
export class Commits {
  readonly #lastPosition: () => number
  /** Every commit of every process writes to it before anything else. */
  readonly #walPath: string
  readonly #waiters = new Set<Waiter>()
  #committed = 0
  #committedAtLook = 0
  #looksWithoutNews = 0
  #nextLook: NodeJS.Timeout | undefined
  #watcher: FSWatcher | undefined
  #closed = false

  constructor(walPath: string, lastPosition: () => number) {
    this.#walPath = walPath
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
        if (this.#waiters.size === 0) this.#stopLooking()
        if (error === undefined) resolve()
        else reject(error)
      }
      const aborted = () => settle()
      const waiter: Waiter = { after, settle }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', aborted)
      this.#scheduleLook()
    })
  }

  close(): void {
    this.#closed = true
    this.#watcher?.close()
    for (const waiter of this.#waiters) waiter.settle(new StoreUnavailableError('the event store is closed'))
  }

  #scheduleLook(): void {
    const isIdle = this.#watcher !== undefined && this.#looksWithoutNews >= idleAfterLooks
    this.#nextLook ??= setTimeout(() => this.#look(), isIdle ? idlePollMs : pollMs)
  }

  #stopLooking(): void {
    clearTimeout(this.#nextLook)
    this.#nextLook = undefined
  }

  #look(): void {
    this.#nextLook = undefined
    try {
      this.committed(this.#lastPosition())
    } catch {
      // The log cannot be read just now: whoever waits is woken by a later look.
    }
    this.#looksWithoutNews = this.#committed === this.#committedAtLook ? this.#looksWithoutNews + 1 : 0
    this.#committedAtLook = this.#committed
    if (this.#looksWithoutNews === watchAfterLooks) this.#watch()
    if (this.#waiters.size > 0) this.#scheduleLook()
  }

  /** Where the system cannot watch a file, looking goes on as before. */
  #watch(): void {
    if (this.#closed || this.#watcher !== undefined) return
    try {
      this.#watcher = watch(this.#walPath, { persistent: false }, () => this.#changed())
      this.#watcher.on('error', () => this.#changed())
    } catch {
      this.#watcher = undefined
    }
  }

  /** Under load each commit would tell: the watch ends with the first, until nothing has come for a while. */
  #changed(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#looksWithoutNews = 0
    this.#stopLooking()
    if (this.#waiters.size > 0) this.#scheduleLook()
  }
}
