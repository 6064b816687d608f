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

/** Large enough to be fast, small enough that other work of the thread comes in between. */
const pageSize = 500
/** The newest events kept for followers that are a little behind. */
const windowSize = 2_000
/** Pages kept for followers that catch up side by side. */
const maxPages = 8
/** Events of other streams after which a follower is told how far the log was looked at. */
const maxUnmatched = 10_000
/** How long a follower that found nothing leaves the log alone: woken for each event, one of rare streams would cost as much as one of all. */
const unmatchedPauseMs = 20

/** The place of the log a follower stands at; undefined is before the first event. */
type Place = Position | undefined

interface Tail {
  readonly pages: AsyncIterator<Page>
  readonly stopping: AbortController
}

/**
 * What the followers of one store in this process read of it. At the end of the log one subscription to the streams of all of them
 * serves all; the newest events stay in a window, from which each takes its own at its own pace. Who is further behind reads
 * pages, and shares them with those that stand at the same place.
 */
export class SharedPages {
  readonly #followers = new Set<{ readonly streamPrefixes: readonly string[] }>()
  readonly #pages = new LRUCache<string, Promise<Page>>({ max: maxPages })
  /** What is in the streams of all followers behind `from`, up to `to`; undefined until somebody has come to the end. */
  #window: { from: Place; to: Place; events: readonly Page['events'][number][]; atEnd: boolean } | undefined
  #tail: Tail | undefined
  #reading: Promise<void> | undefined

  constructor(private readonly store: EventStore) {}

  /** Hands back what ends it. */
  join(streamPrefixes: readonly string[]): () => void {
    const isNew = streamPrefixes.some((prefix) => !this.#prefixes().includes(prefix))
    const follower = { streamPrefixes }
    this.#followers.add(follower)
    if (isNew) this.forget()
    return () => {
      this.#followers.delete(follower)
      if (this.#followers.size > 0) return
      this.forget()
      this.#window = undefined
    }
  }

  /** What is read from now on is read anew: an event that was read before may have been skipped since. */
  forget(): void {
    this.#tail?.stopping.abort()
    this.#tail = undefined
    this.#pages.clear()
    const to = this.#window?.to
    if (this.#window) this.#window = { from: to, to, events: [], atEnd: false }
  }

  /**
   * The next events of the streams behind a place; waits for them at the end of the log. Empty when the end is first reached, and now
   * and then while nothing but other streams grow. Undefined when the signal aborts. @throws StoreUnavailableError
   */
  async behind(after: Place, streamPrefixes: readonly string[], signal: AbortSignal): Promise<Page | undefined> {
    let from = after
    let unmatched = 0
    while (!signal.aborted) {
      const window = this.#window
      if (!window || isBefore(from, window.from)) return await this.#pageBehind(from, streamPrefixes)
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
      // Who waited may find what others have read meanwhile.
      if (this.#window === window) await untilAborted(this.#readTail(), signal)
    }
    return undefined
  }

  #prefixes(): readonly string[] {
    return [...new Set([...this.#followers].flatMap((follower) => follower.streamPrefixes))]
  }

  #pageBehind(after: Place, streamPrefixes: readonly string[]): Promise<Page> {
    const key = `${after ? formatPosition(after) : ''} ${streamPrefixes}`
    const known = this.#pages.get(key)
    if (known) return known
    const page = this.#readPage(after, streamPrefixes)
    this.#pages.set(key, page)
    // The last page grows; one that failed is tried again.
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

  /** One more page of the subscription, whoever asks for it. */
  #readTail(): Promise<void> {
    this.#reading ??= this.#takePage().finally(() => {
      this.#reading = undefined
    })
    // Who asked may have gone.
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

/** Waits no longer than until the signal aborts. */
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
