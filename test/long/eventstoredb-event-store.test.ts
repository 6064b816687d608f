import t from 'tap'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { eventStoreContract } from '../contracts/event-store.contract.js'
import { startTestEventsServer } from '../support/events-server.js'
import { openTestEventStoreDb, withoutEventStoreDb } from '../support/eventstoredb.js'

const server = await startTestEventsServer()
eventStoreContract(t, {
  name: 'EventStoreDB, over the protocol server',
  open: async () => openEventStoreDb({ url: server.url }),
})

if (withoutEventStoreDb) t.comment(withoutEventStoreDb)
else eventStoreContract(t, { name: 'EventStoreDB', open: openTestEventStoreDb })

t.teardown(() => server.stop())
