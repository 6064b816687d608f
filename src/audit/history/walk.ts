import { setImmediate } from 'node:timers/promises'
import { streamPrefixes as allPrefixes } from '../../domain/streams.js'
import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../../event-store/event-store.js'

const walkPage = 500

export interface Stretch {
  /** Exclusive; from the start of the log when absent. */
  readonly after?: Position | undefined
  /** Inclusive; to the end of the log when absent. */
  readonly until?: Position | undefined
  /** The service's streams when absent. */
  readonly streamPrefixes?: readonly string[]
}

export interface WalkedPage {
  readonly events: readonly RecordedEvent[]
  /** Everything up to here has been looked at; undefined on an empty log. */
  readonly at: Position | undefined
}

/** A stretch of the log, page by page; the thread does other things in between. @throws StoreUnavailableError */
export async function* walk(
  store: Pick<EventStore, 'readAll'>,
  { after, until, streamPrefixes = allPrefixes }: Stretch,
): AsyncGenerator<WalkedPage> {
  let at = after
  while (!until || !at || comparePositions(at, until) < 0) {
    const page = await store.readAll({ streamPrefixes, maxCount: walkPage, ...(at && { after: at }) })
    at = page.checkpoint ?? at
    const isPast = until !== undefined && at !== undefined && comparePositions(at, until) > 0
    if (isPast) at = until
    yield { events: isPast ? page.events.filter(({ position }) => isUpTo(position, until)) : page.events, at }
    if (page.atEnd) return
    await setImmediate()
  }
}

function isUpTo(position: Position, until: Position): boolean {
  return comparePositions(position, until) <= 0
}
