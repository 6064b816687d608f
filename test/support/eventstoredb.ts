import type { EventStore } from '../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'

const url = process.env.TEST_EVENTSTORE_URL?.trim()

/** The reason to skip a test without a real server, or undefined if a server is configured. */
export const withoutEventStoreDb: string | undefined = url
  ? undefined
  : 'NOT RUN: requires a real EventStoreDB, and TEST_EVENTSTORE_URL is not set'

/** Connects to the real server. The names of streams and groups are unique to each test. */
export async function openTestEventStoreDb(): Promise<EventStore> {
  return openEventStoreDb({ url: url ?? '' })
}
