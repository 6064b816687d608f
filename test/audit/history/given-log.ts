import {
  comparePositions,
  type EventStore,
  type Page,
  type ReadAllOptions,
  type RecordedEvent,
} from '../../../src/event-store/event-store.js'

export type GivenLog = Pick<EventStore, 'readAll' | 'readStream' | 'subscribeToAll'>

/** Returns a fixed log whose pages have a limited size. */
export function givenLog(events: readonly RecordedEvent[], maxPage = 500): GivenLog {
  const checkpoint = events.at(-1)?.position
  function readAll({ after, streamPrefixes, maxCount }: ReadAllOptions): Page {
    const remaining = events.filter(({ position }) => !after || comparePositions(position, after) > 0)
    const page = remaining.slice(0, Math.min(maxCount, maxPage))
    const matching = page.filter(({ stream }) => streamPrefixes?.some((prefix) => stream.startsWith(prefix)) ?? true)
    const at = page.at(-1)?.position ?? after
    return { events: matching, atEnd: page.length === remaining.length, ...(at && { checkpoint: at }) }
  }
  return {
    readStream: async (stream, { fromRevision = 0, maxCount = Number.POSITIVE_INFINITY } = {}) =>
      events.filter((event) => event.stream === stream && event.revision >= fromRevision).slice(0, maxCount),
    readAll: async (options) => readAll(options),
    async *subscribeToAll() {
      yield { events: [], atEnd: true, ...(checkpoint && { checkpoint }) }
    },
  }
}
