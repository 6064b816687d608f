import { type EventStore, endOfLog, type Page, type Position } from '../event-store/event-store.js'
import { pause, type RetryOptions, retryWhileUnavailable } from './retry.js'
import { SharedPages } from './shared-pages.js'

/** A page with at least this many events shows that the log is busy. */
const busyEvents = 50

export interface FollowOptions extends RetryOptions {
  readonly store: EventStore
  /** The position after which to start; the start of the log if `undefined`. */
  readonly after: Position | 'end' | undefined
  readonly streamPrefixes: readonly string[]
  /**
   * The time for which events gather at the end of the log, so that a busy log is read in pages rather than event by event. No pause if
   * omitted.
   */
  readonly gatherMs?: { readonly calm: number; readonly busy: number }
  /** Handles one page at a time. A page whose handling fails and is retried is delivered again. */
  readonly handle: (page: Page) => Promise<void> | void
}

/**
 * Follows the log until the signal aborts. All followers of a store in this process read each page once and decode each event once.
 * @throws errors of `handle` that are not retried
 */
export async function follow(options: FollowOptions): Promise<void> {
  const { store, streamPrefixes, gatherMs, signal, handle } = options
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
      if (!page?.atEnd || !gatherMs) continue
      await pause(page.events.length < busyEvents ? gatherMs.calm : gatherMs.busy, signal)
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
