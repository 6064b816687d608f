import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openEventLog } from '@transferd/event-log'
import type { EventStore } from '../../src/event-store/event-store.js'

const overProtocol = process.env.TEST_EVENT_STORE === 'protocol'

/**
 * Opens the log in a directory with the embedded engine or, with TEST_EVENT_STORE=protocol, with the EventStoreDB
 * adapter on a server of that log. The first process that opens the directory starts the server, and all others connect
 * to it. The writer has no thread here: to open, append and close took 82 ms of processor time with its threads, and takes 6 ms
 * without. The contract suites and all tests of the program use the threads.
 */
export async function openTestEventStore(directory: string): Promise<EventStore> {
  if (!overProtocol) return openEventLog({ directory, writerThread: false })
  // Client and server are loaded on demand, because most tests do not need them.
  const { openEventStoreDb } = await import('../../src/event-store/eventstoredb/eventstoredb-event-store.js')
  const { startTestEventsServer } = await import('./events-server.js')
  const urlFile = join(directory, 'events.url')
  if (existsSync(urlFile)) return openEventStoreDb({ url: readFileSync(urlFile, 'utf8') })
  // EventStoreDB 23.10 drops subscriptions in bursts, so every test of the program on its protocol has to survive that.
  const server = await startTestEventsServer(directory, { onLiveBurst: 'drop' })
  writeFileSync(urlFile, server.url)
  const store = openEventStoreDb({ url: server.url })
  return {
    ...store,
    close: async () => {
      await store.close()
      await server.stop()
      rmSync(urlFile, { force: true })
    },
  }
}
