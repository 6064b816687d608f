import { attachEmbeddedEventStore, type EventStoreHandle, openEmbeddedEventStore } from '../event-store/embedded.js'
import type { EventStore } from '../event-store/event-store.js'
import { ConfigurationError } from './configuration.js'
import type { EventStoreLocation } from './configuration-values.js'

export interface OpenedEventStore {
  readonly eventStore: EventStore
  /** What another thread of the process attaches with; undefined where each thread has a connection of its own. */
  share(): EventStoreHandle | undefined
}

/**
 * One on EventStoreDB need not be reachable yet.
 * @throws CannotOpenLogError, ConfigurationError where a URL makes no sense
 */
export async function openEventStore(location: EventStoreLocation): Promise<OpenedEventStore> {
  switch (location.engine) {
    case 'embedded': {
      const eventStore = await openEmbeddedEventStore(location)
      return { eventStore, share: () => eventStore.share() }
    }
    case 'eventstoredb':
      return { eventStore: await connect(location.url), share: () => undefined }
    default:
      return location satisfies never
  }
}

/** The same log in another thread. */
export async function attachEventStore(
  location: EventStoreLocation,
  handle: EventStoreHandle | undefined,
): Promise<EventStore> {
  return handle ? attachEmbeddedEventStore(handle) : (await openEventStore(location)).eventStore
}

async function connect(url: string): Promise<EventStore> {
  // The client costs start time and memory that the embedded mode has no use for.
  const { openEventStoreDb } = await import('../event-store/eventstoredb/eventstoredb-event-store.js')
  try {
    return openEventStoreDb({ url })
  } catch (error) {
    throw error instanceof TypeError ? new ConfigurationError([`EVENT_STORE_URL ${error.message}`]) : error
  }
}
