import type { EventStore } from './event-store.js'

/**
 * Returns a store that forwards every member, optional ones included, unless `overrides` replaces it. Stores are plain objects whose
 * functions need no `this`.
 */
export function decorateStore(store: EventStore, overrides: Partial<EventStore>): EventStore {
  return { ...store, ...overrides }
}
