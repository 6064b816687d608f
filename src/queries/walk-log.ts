import { setImmediate } from 'node:timers/promises'
import { streamPrefixes as allPrefixes } from '../domain/streams.js'
import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../event-store/event-store.js'

const pageSize = 500

export interface LogRange {
  /** Exclusive; defaults to the start of the log. */
  readonly after?: Position | undefined
  /** Inclusive; defaults to the end of the log. */
  readonly until?: Position | undefined
  /** Defaults to the service's streams. */
  readonly streamPrefixes?: readonly string[]
}

export interface LogPage {
  readonly events: readonly RecordedEvent[]
  /** The last examined position; `undefined` on an empty log. */
  readonly at: Position | undefined
}

/** Yields a range of the log page by page. Other work of the thread runs between the pages. @throws StoreUnavailableError */
export async function* walkLog(
  store: Pick<EventStore, 'readAll'>,
  { after, until, streamPrefixes = allPrefixes }: LogRange,
): AsyncGenerator<LogPage> {
  let at = after
  while (!until || !at || comparePositions(at, until) < 0) {
    const page = await store.readAll({ streamPrefixes, maxCount: pageSize, ...(at && { after: at }) })
    at = page.checkpoint ?? at
    const isPast = until !== undefined && at !== undefined && comparePositions(at, until) > 0
    if (isPast) at = until
    const events = isPast ? page.events.filter(({ position }) => comparePositions(position, until) <= 0) : page.events
    yield { events, at }
    if (page.atEnd) return
    await setImmediate()
  }
}
