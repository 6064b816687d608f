import type { EventStore, Page, Position } from '../event-store/event-store.js'
import { pause, type RetryOptions, retryWhileUnavailable } from './retry.js'

/** Read and applied at once: large enough to be fast, small enough that timers of the thread come in between. */
export const batchSize = 500

/** At the end of the log, so that a busy one is followed in batches and not event by event. */
const lingerMs = 25

export interface CatchUpOptions extends RetryOptions {
  readonly store: EventStore
  /** Exclusive; from the start when absent. */
  readonly after: Position | undefined
  readonly streamPrefixes: readonly string[]
  /** One page after the other. A page may come again when a store was away, so it must bear repetition. */
  readonly handle: (page: Page) => Promise<void>
}

/** Follows the log from a position until the signal aborts. Throws what `handle` throws, unless a store was away. */
export async function catchUp(options: CatchUpOptions): Promise<void> {
  const { store, streamPrefixes, signal, handle } = options
  let { after } = options
  await retryWhileUnavailable(async (progressed) => {
    const pages = store.subscribeToAll({ streamPrefixes, pageSize: batchSize, signal, ...(after && { after }) })
    for await (const page of pages) {
      await handle(page)
      after = page.checkpoint ?? after
      progressed()
      if (page.atEnd) await pause(lingerMs, signal)
    }
  }, options)
}
