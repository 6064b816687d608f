import type { EventStore, RecordedEvent } from '../event-store/event-store.js'

export type IsNeeded = (event: RecordedEvent) => boolean

/**
 * Decorates a store for a follower that omits events before their codes are checked and their data is decrypted. A page keeps its last event,
 * because the follower saves its place.
 */
export function onlyNeeded(raw: EventStore, isNeeded: IsNeeded): EventStore {
  return {
    ...raw,
    async *subscribeToAll(options) {
      for await (const page of raw.subscribeToAll(options)) {
        const last = page.events.length - 1
        yield { ...page, events: page.events.filter((event, index) => index === last || isNeeded(event)) }
      }
    },
  }
}
