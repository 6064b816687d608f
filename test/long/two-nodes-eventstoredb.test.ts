import { randomBytes } from 'node:crypto'
import t from 'tap'
import { killEitherNode } from '../crash/two-nodes.js'
import { startEventsServerProcess } from '../support/events-server.js'
import { temporaryDirectory } from '../support/processes.js'

/** The other kills are in two-nodes.test.ts, with nodes that share the embedded log. */
const kills = 6

t.setTimeout(900_000)

t.test(`two nodes on one EventStoreDB keep the rules of one node after ${kills} kills of either`, async (t) => {
  const directory = temporaryDirectory(t)
  const server = await startEventsServerProcess(t, temporaryDirectory(t))
  const environment = { EVENT_STORE_URL: server.url, TRANSFERD_MASTER_KEY: randomBytes(32).toString('hex') }
  await killEitherNode(t, { directory, environment, kills })
})
