import { endOfLog } from '../event-store/end-of-log.js'
import type { EventStore, Page, Position } from '../event-store/event-store.js'
import { pause, type RetryOptions, retryWhileUnavailable } from './retry.js'
import { SharedPages } from './shared-pages.js'

/** A page of so many is long. */
const busyEvents = 50

export interface FollowOptions extends RetryOptions {
  readonly store: EventStore
  /** Exclusive; from the start when undefined. */
  readonly after: Position | 'end' | undefined
  readonly streamPrefixes: readonly string[]
  /**
   * At the end of the log: how long events gather, so that a busy one is followed in pages and not event by event; longer behind a page that
   * was long. Not at all when absent.
   */
  readonly gatherMs?: { readonly calm: number; readonly busy: number }
  /** One page after the other. A page comes again when its handling fails and is retried, so it must bear repetition. */
  readonly handle: (page: Page) => Promise<void> | void
}

/**
 * Follows the log until the signal aborts. All that follow the same store in this process read each page once and decode each event
 * once. Throws what `handle` throws and is not retried.
 */
export async function follow(options: FollowOptions): Promise<void> {
  const { store, streamPrefixes, gatherMs, signal, handle } = options
  const pages = pagesOf(store)
  const leave = pages.join(streamPrefixes)
  try {
    let after = options.after === 'end' ? await retryWhileUnavailable(() => endOfLog(store), options) : options.after
    const next = async () => {
      const page = await pages.behind(after, streamPrefixes, signal)
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

/** To be called before following on from an event that is now skipped: followers may hold it as it was. */
export function readAnew(store: EventStore): void {
  pagesOf(store).forget()
}

const pagesByStore = new WeakMap<EventStore, SharedPages>()

function pagesOf(store: EventStore): SharedPages {
  const pages = pagesByStore.get(store) ?? new SharedPages(store)
  pagesByStore.set(store, pages)
  return pages
}
