import { LRUCache } from 'lru-cache'
import {
  comparePositions,
  type EventStore,
  endOfLog,
  formatPosition,
  type Page,
  type Position,
} from '../event-store/event-store.js'
import { decodeOnce } from '../event-store/read-event.js'
import { estimatedBytes } from '../kernel/memory-size.js'
import { pause, type RetryOptions, retryWhileUnavailable } from './retry.js'

/** A page with at least this many events shows that the log is busy. */
const busyEvents = 50
/** Large enough to be fast, and small enough not to delay other work of the thread. */
const pageSize = 500
/** The number of newest events that are kept for followers that lag slightly. */
const windowSize = 2_000
/** More than that number of events without a transfer's metadata. */
const windowBytes = 8 * 1024 * 1024
/** The number of pages that are kept for followers that catch up simultaneously. A store limits the bytes of each. */
const maxPages = 8
/** A follower receives a checkpoint after this many events of other streams. */
const maxUnmatched = 10_000
/** The pause of a follower that found nothing. If every event woke it, a follower of rare streams would cost as much as one of all. */
const unmatchedPauseMs = 20

interface FollowOptions extends RetryOptions {
  readonly store: EventStore
  /** The position after which to start; the start of the log if `undefined`. */
  readonly after: Position | 'end' | undefined
  readonly streamPrefixes: readonly string[]
  /**
   * The time for which events gather at the end of the log, so that a busy log is read in pages rather than event by event. No pause if
   * omitted.
   */
  readonly gatherMs?: number
  /** The same after a large page; defaults to `gatherMs`. */
  readonly busyGatherMs?: number
  /** Handles one page at a time. A page whose handling fails and is retried is delivered again. */
  readonly handle: (page: Page) => Promise<void> | void
}

/**
 * Follows the log until the signal aborts. All followers of a store in this process read each page once and decode each event once.
 * @throws errors of `handle` that are not retried
 */
export async function follow(options: FollowOptions): Promise<void> {
  const { store, streamPrefixes, gatherMs, busyGatherMs = gatherMs, signal, handle } = options
  const pages = pagesOf(store)
  const leave = pages.join(streamPrefixes)
  try {
    let after = options.after === 'end' ? await retryWhileUnavailable(() => endOfLog(store), options) : options.after
    const next = async () => {
      const page = await pages.readAfter(after, streamPrefixes, signal)
      if (page) await handle(page)
      return page
    }
    while (!signal.aborted) {
      const page = await retryWhileUnavailable(next, options)
      after = page?.checkpoint ?? after
      const pauseMs = page && page.events.length < busyEvents ? gatherMs : busyGatherMs
      if (page?.atEnd && pauseMs) await pause(pauseMs, signal)
    }
  } finally {
    leave()
  }
}

/** Discards the shared pages. Call it before you follow from an event that is now skipped: the pages may contain it unmarked. */
export function discardSharedPages(store: EventStore): void {
  pagesOf(store).discard()
}

const pagesByStore = new WeakMap<EventStore, SharedPages>()

function pagesOf(store: EventStore): SharedPages {
  const pages = pagesByStore.get(store) ?? new SharedPages(store)
  pagesByStore.set(store, pages)
  return pages
}

/** The position of a follower; `undefined` is before the first event. */
type Place = Position | undefined

interface Window {
  readonly from: Place
  readonly to: Place
  readonly events: Page['events']
  /** The estimated memory of the events. */
  readonly bytes: number
  readonly atEnd: boolean
}

/**
 * Reads a store once for all of its followers in this process. At the end of the log, one subscription covers the streams of all followers.
 * The newest events are kept in a window, from which each follower takes its own. A follower that lags further behind reads pages, which
 * it shares with followers at the same position.
 */
class SharedPages {
  readonly #followers = new Set<{ readonly streamPrefixes: readonly string[] }>()
  readonly #pages = new LRUCache<string, Promise<Page>>({ max: maxPages })
  /** The events of all followers' streams after `from`, up to `to`; `undefined` until a follower has reached the end. */
  #window: Window | undefined
  #tail: { readonly pages: AsyncIterator<Page>; readonly stopping: AbortController } | undefined
  #reading: Promise<void> | undefined

  constructor(private readonly store: EventStore) {}

  join(streamPrefixes: readonly string[]): () => void {
    const isNew = streamPrefixes.some((prefix) => !this.#prefixes().includes(prefix))
    const follower = { streamPrefixes }
    this.#followers.add(follower)
    if (isNew) this.discard()
    return () => {
      this.#followers.delete(follower)
      if (this.#followers.size > 0) return
      this.discard()
      this.#window = undefined
    }
  }

  /** Discards everything that was read, for example because one of the events is now skipped. */
  discard(): void {
    this.#tail?.stopping.abort()
    this.#tail = undefined
    this.#pages.clear()
    const to = this.#window?.to
    if (this.#window) this.#window = { from: to, to, events: [], bytes: 0, atEnd: false }
  }

  /**
   * Returns the next events of the streams after a position, and waits for them at the end of the log. The page is empty when the end is
   * first reached, and occasionally while only other streams grow. Returns `undefined` if the signal aborts. @throws StoreUnavailableError
   */
  async readAfter(after: Place, streamPrefixes: readonly string[], signal: AbortSignal): Promise<Page | undefined> {
    let from = after
    let unmatched = 0
    while (!signal.aborted) {
      const window = this.#window
      if (!window || isBefore(from, window.from)) return await this.#pageAfter(from, streamPrefixes)
      const { to, atEnd } = window
      const first = window.events.findLastIndex(({ position }) => !isBefore(from, position)) + 1
      const found = window.events.slice(first)
      const events = found.filter(({ stream }) => streamPrefixes.some((prefix) => stream.startsWith(prefix)))
      if (events.length > pageSize) {
        const page = events.slice(0, pageSize)
        return { events: page, atEnd: false, checkpoint: page[pageSize - 1]!.position }
      }
      unmatched += found.length - events.length
      if (to && isBefore(from, to)) from = to
      if (events.length > 0 || unmatched >= maxUnmatched) return { events, atEnd, ...(from && { checkpoint: from }) }
      if (found.length > 0) await pause(unmatchedPauseMs, signal)
      // Another follower may have read the next page during the pause.
      if (this.#window === window) await untilAborted(this.#readTail(), signal)
    }
    return undefined
  }

  #prefixes(): readonly string[] {
    return [...new Set([...this.#followers].flatMap((follower) => follower.streamPrefixes))]
  }

  #pageAfter(after: Place, streamPrefixes: readonly string[]): Promise<Page> {
    const key = `${after ? formatPosition(after) : ''} ${streamPrefixes}`
    const known = this.#pages.get(key)
    if (known) return known
    const page = this.#readPage(after, streamPrefixes)
    this.#pages.set(key, page)
    // The last page grows, and a failed read is retried.
    const drop = () => this.#pages.delete(key)
    page.then(({ atEnd }) => atEnd && drop(), drop)
    return page
  }

  async #readPage(after: Place, streamPrefixes: readonly string[]): Promise<Page> {
    const page = await this.store.readAll({ streamPrefixes, maxCount: pageSize, ...(after && { after }) })
    decodeOnce(page.events)
    const end = page.checkpoint ?? after
    if (page.atEnd) this.#window ??= { from: end, to: end, events: [], bytes: 0, atEnd: true }
    return page
  }

  /** Reads one more page of the subscription for all followers that wait. */
  #readTail(): Promise<void> {
    this.#reading ??= this.#takePage().finally(() => {
      this.#reading = undefined
    })
    // The follower that started the read may have stopped.
    this.#reading.catch(() => undefined)
    return this.#reading
  }

  async #takePage(): Promise<void> {
    this.#tail ??= this.#subscribe()
    const tail = this.#tail
    try {
      const { value: page, done } = await tail.pages.next()
      if (tail.stopping.signal.aborted) return
      if (done) this.#tail = undefined
      else this.#take(page)
    } catch (error) {
      if (tail.stopping.signal.aborted) return
      this.#tail = undefined
      throw error
    }
  }

  #subscribe() {
    const stopping = new AbortController()
    const after = this.#window?.to
    const options = { streamPrefixes: this.#prefixes(), pageSize, signal: stopping.signal, ...(after && { after }) }
    return { pages: this.store.subscribeToAll(options)[Symbol.asyncIterator](), stopping }
  }

  #take({ events: found, checkpoint, atEnd }: Page): void {
    const { from, to, events, bytes: before } = this.#window!
    decodeOnce(found)
    const all = [...events, ...found]
    let bytes = found.reduce((sum, event) => sum + estimatedBytes(event), before)
    let dropped = 0
    while (all.length - dropped > windowSize || bytes > windowBytes) bytes -= estimatedBytes(all[dropped++])
    const start = dropped > 0 ? all[dropped - 1]!.position : from
    this.#pages.clear()
    this.#window = { from: start, to: checkpoint ?? to, events: all.slice(dropped), bytes, atEnd }
  }
}

function isBefore(a: Place, b: Place): boolean {
  return b !== undefined && (a === undefined || comparePositions(a, b) < 0)
}

async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  let stop: () => void = () => undefined
  const aborted = new Promise<void>((resolve) => {
    stop = resolve
  })
  signal.addEventListener('abort', stop)
  await Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', stop))
}
