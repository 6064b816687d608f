import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GroupScene } from '@transferd/event-log/test/support/group-scene'
import t, { type Test } from 'tap'
import type { EventStore } from '../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { crashPrefix, crashRules } from '../contracts/persistent/crash.js'
import { persistentSubscriptionsContract } from '../contracts/persistent-subscriptions.contract.js'
import { startEventsServerProcess, startTestEventsServer } from '../support/events-server.js'
import { openTestEventStoreDb, withoutEventStoreDb } from '../support/eventstoredb.js'

/** A server with a new log, which ends with the store. */
async function open(): Promise<EventStore> {
  const server = await startTestEventsServer()
  // This test starts many servers, which takes long on a busy machine.
  const store = openEventStoreDb({ url: server.url, deadlineMs: 60_000 })
  return {
    ...store,
    close: async () => {
      await store.close()
      await server.stop()
    },
  }
}

/** Kills the server instead of this process, and opens its log again. */
async function crash(t: Test): Promise<EventStore> {
  const directory = mkdtempSync(join(tmpdir(), 'groups-'))
  const server = await startEventsServerProcess(t, directory)
  const before = openEventStoreDb({ url: server.url })
  await Promise.all(
    Object.entries(crashRules).map(([sentence, rule]) => rule.before(new GroupScene(before, crashPrefix(sentence)))),
  )
  await server.end('SIGKILL')
  await before.close()
  const again = await startEventsServerProcess(t, directory)
  t.teardown(async () => {
    await again.end('SIGTERM')
    rmSync(directory, { recursive: true })
  })
  return openEventStoreDb({ url: again.url })
}

persistentSubscriptionsContract(t, { name: 'EventStoreDB, over the protocol server', open, losesNothing: false, crash })

if (withoutEventStoreDb) t.comment(withoutEventStoreDb)
else persistentSubscriptionsContract(t, { name: 'EventStoreDB', open: openTestEventStoreDb, losesNothing: false })
