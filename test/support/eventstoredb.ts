import type { EventStore } from '../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'

const url = process.env.TEST_EVENTSTORE_URL?.trim()

/** The reason to skip a test without a real server, or undefined if there is one. */
export const withoutEventStoreDb: string | undefined = url
  ? undefined
  : 'NOT RUN: on a real EventStoreDB; TEST_EVENTSTORE_URL names no server'

/** Connects to the real server. Streams and groups of tests have unique names there. */
export async function openTestEventStoreDb(): Promise<EventStore> {
  return openEventStoreDb({ url: url ?? '' })
}
