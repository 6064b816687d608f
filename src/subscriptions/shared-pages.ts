import { LRUCache } from 'lru-cache'
import {
  comparePositions,
  type EventStore,
  formatPosition,
  type Page,
  type Position,
} from '../event-store/event-store.js'
import { decodeOnce } from '../event-store/read-event.js'
import { pause } from './retry.js'

/** Large enough to be fast, and small enough not to delay other work of the thread. */
const pageSize = 500
/** The number of newest events that are kept for followers that lag slightly. */
const windowSize = 2_000
/** The number of pages that are kept for followers that catch up simultaneously. */
const maxPages = 8
/** A follower receives a checkpoint after this many events of other streams. */
const maxUnmatched = 10_000
/** The pause of a follower that found nothing. If every event woke it, a follower of rare streams would cost as much as one of all. */
const unmatchedPauseMs = 20

/** The position of a follower; `undefined` is before the first event. */
type Place = Position | undefined

interface Tail {
  readonly pages: AsyncIterator<Page>
  readonly stopping: AbortController
}

/**
 * Reads a store once for all of its followers in this process. At the end of the log, one subscription covers the streams of all followers.
 * The newest events are kept in a window, from which each follower takes its own. A follower that lags further behind reads pages, which
 * it shares with followers at the same position.
 */
export class SharedPages {
  readonly #followers = new Set<{ readonly streamPrefixes: readonly string[] }>()
  readonly #pages = new LRUCache<string, Promise<Page>>({ max: maxPages })
  /** The events of all followers' streams after `from`, up to `to`; `undefined` until a follower has reached the end. */
  #window: { from: Place; to: Place; events: readonly Page['events'][number][]; atEnd: boolean } | undefined
  #tail: Tail | undefined
  #reading: Promise<void> | undefined

  constructor(private readonly store: EventStore) {}

  /** Adds a follower. Returns a function that removes it. */
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
    if (this.#window) this.#window = { from: to, to, events: [], atEnd: false }
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
    if (page.atEnd) this.#window ??= { from: end, to: end, events: [], atEnd: true }
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
    const tail = this.#tail ?? this.#subscribe()
    this.#tail = tail
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

  #subscribe(): Tail {
    const stopping = new AbortController()
    const after = this.#window?.to
    const options = { streamPrefixes: this.#prefixes(), pageSize, signal: stopping.signal, ...(after && { after }) }
    return { pages: this.store.subscribeToAll(options)[Symbol.asyncIterator](), stopping }
  }

  #take({ events: found, checkpoint, atEnd }: Page): void {
    const { from, to, events } = this.#window!
    decodeOnce(found)
    const all = [...events, ...found]
    const dropped = Math.max(0, all.length - windowSize)
    this.#pages.clear()
    this.#window = {
      from: dropped > 0 ? all[dropped - 1]!.position : from,
      to: checkpoint ?? to,
      events: all.slice(dropped),
      atEnd,
    }
  }
}

function isBefore(a: Place, b: Place): boolean {
  return b !== undefined && (a === undefined || comparePositions(a, b) < 0)
}

/** Waits for the promise until the signal aborts. */
async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  let stop: () => void = () => undefined
  const aborted = new Promise<void>((resolve) => {
    stop = resolve
  })
  signal.addEventListener('abort', stop)
  try {
    await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
