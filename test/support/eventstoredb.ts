import type { EventStore } from '../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'

const url = process.env.TEST_EVENTSTORE_URL?.trim()

/** What to tell where there is no real server; undefined when there is one. */
export const withoutEventStoreDb: string | undefined = url
  ? undefined
  : 'NOT RUN: on a real EventStoreDB; TEST_EVENTSTORE_URL names no server'

/** On the real server the tests may use: streams and groups they make there have names of their own. */
export async function openTestEventStoreDb(): Promise<EventStore> {
  return openEventStoreDb({ url: url ?? '' })
}
