import { type FSWatcher, watch } from 'node:fs'
import { StoreUnavailableError } from '../event-log-types.js'

/** The interval of checks for appends of other processes while the log grows. */
const pollMs = 40
/** The interval while the log is idle. A change of the file wakes the watcher earlier; these checks are a fallback. */
const idlePollMs = 1_000
/** The number of checks without news after which the file is watched. */
const watchAfterChecks = 20
/** The number of checks without news after which the file watch is relied on: commits from before its start are visible by then. */
const idleAfterChecks = 25

interface Waiter {
  readonly after: number
  readonly settle: (error?: Error) => void
}

/**
 * Wakes readers when the log grows. The process's own writer notifies it. For appends of other processes, it polls the log and watches
 * the write-ahead log, which every commit changes first.
 */
export class CommitWatcher {
  readonly #waiters = new Set<Waiter>()
  #committed = 0
  #committedAtCheck = 0
  #checksWithoutNews = 0
  #nextCheck: NodeJS.Timeout | undefined
  #watcher: FSWatcher | undefined
  #isClosed = false

  constructor(
    private readonly walPath: string,
    private readonly lastPosition: () => number,
  ) {}

  /** Records that the log is committed up to this position. */
  notify(position: number): void {
    if (position <= this.#committed) return
    this.#committed = position
    for (const waiter of this.#waiters) if (position > waiter.after) waiter.settle()
  }

  /** Resolves when the log has an event after `after`, or when the signal aborts. @throws StoreUnavailableError if it is closed */
  async waitForCommit(after: number, signal: AbortSignal): Promise<void> {
    if (this.#isClosed) throw new StoreUnavailableError('the event store is closed')
    if (signal.aborted || this.#committed > after) return
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error) => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', onAbort)
        if (this.#waiters.size === 0) this.#stopChecking()
        if (error === undefined) resolve()
        else reject(error)
      }
      const onAbort = () => settle()
      const waiter: Waiter = { after, settle }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', onAbort)
      this.#scheduleCheck()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#watcher?.close()
    for (const waiter of this.#waiters) waiter.settle(new StoreUnavailableError('the event store is closed'))
  }

  #scheduleCheck(): void {
    const isIdle = this.#watcher !== undefined && this.#checksWithoutNews >= idleAfterChecks
    this.#nextCheck ??= setTimeout(() => this.#check(), isIdle ? idlePollMs : pollMs)
  }

  #stopChecking(): void {
    clearTimeout(this.#nextCheck)
    this.#nextCheck = undefined
  }

  #check(): void {
    this.#nextCheck = undefined
    try {
      this.notify(this.lastPosition())
    } catch {
      // The log is currently unreadable: a later check wakes the waiters.
    }
    this.#checksWithoutNews = this.#committed === this.#committedAtCheck ? this.#checksWithoutNews + 1 : 0
    this.#committedAtCheck = this.#committed
    if (this.#checksWithoutNews === watchAfterChecks) this.#watch()
    if (this.#waiters.size > 0) this.#scheduleCheck()
  }

  /** Watches the file, unless the system cannot watch it; then the frequent checks continue. */
  #watch(): void {
    if (this.#isClosed || this.#watcher !== undefined) return
    try {
      this.#watcher = watch(this.walPath, { persistent: false }, () => this.#onChange())
      this.#watcher.on('error', () => this.#onChange())
    } catch {
      this.#watcher = undefined
    }
  }

  /** Ends the watch at the first change, until the log is idle again: under load, every commit would trigger it. */
  #onChange(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#checksWithoutNews = 0
    this.#stopChecking()
    if (this.#waiters.size > 0) this.#scheduleCheck()
  }
}
