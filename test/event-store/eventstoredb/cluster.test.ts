import { randomUUID } from 'node:crypto'
import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'
import t, { type Test } from 'tap'
import { findNode } from '../../../src/event-store/eventstoredb/cluster-search.js'
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import {
  type Endpoint,
  isOfThisMachine,
  parseConnectionUrl,
} from '../../../src/event-store/eventstoredb/eventstoredb-url.js'
import { type FakeCluster, fakeAddresses, startFakeCluster } from '../../support/fake-cluster.js'
import { until } from '../../support/until.js'

const unavailable = { name: 'StoreUnavailableError' }

async function cluster(t: Test): Promise<FakeCluster> {
  const started = await startFakeCluster()
  t.teardown(() => started.stop())
  return started
}

interface Wanted {
  readonly failed?: Endpoint
  readonly isLost?: boolean
  readonly withinMs?: number
  readonly url?: string
}

/** Returns the number of the found node, or `undefined` if none is found in time. */
async function find({ nodes, url }: FakeCluster, wanted: Wanted = {}): Promise<number | undefined> {
  const { failed, isLost = true, withinMs = 30_000 } = wanted
  const ended = new AbortController()
  const timer = setTimeout(() => ended.abort(), withinMs)
  const found = await findNode(parseConnectionUrl(wanted.url ?? url), { failed, isLost, signal: ended.signal })
  clearTimeout(timer)
  return found && nodes.findIndex(({ port }) => port === found.port)
}

const endpointOf = ({ nodes }: FakeCluster, n: number): Endpoint => ({ address: '127.0.0.1', port: nodes[n]!.port })
const event = () => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })

t.test('finds the leader as soon as one node names it, while others do not respond', async (t) => {
  const started = await cluster(t)
  started.elect(undefined)
  started.nodes[0]!.leader = 'no response'
  const found = find(started)
  // Requests without a response do not delay the next round.
  await until(() => started.nodes.every(({ gossipRequests }) => gossipRequests >= 5))
  started.nodes[2]!.leader = 1
  t.equal(await found, 1)
})

t.test('sets a node aside that has just failed, until no node names another', async (t) => {
  const started = await cluster(t)
  const failed = endpointOf(started, 0)
  started.nodes[2]!.leader = 1
  for (let n = 0; n < 10; n++) t.equal(await find(started, { failed }), 1)
  started.elect(0)
  t.equal(await find(started, { failed }), 0, 'only its connection was lost')
})

t.test('does not give up a working leader because one node names another', async (t) => {
  const started = await cluster(t)
  const failed = endpointOf(started, 0)
  started.nodes[1]!.leader = 1
  t.equal(await find(started, { failed, isLost: false, withinMs: 500 }), undefined)
  started.nodes[0]!.leader = 'no response'
  started.nodes[2]!.leader = 1
  t.equal(await find(started, { failed, isLost: false }), 1)
})

t.test('chooses among followers at random', async (t) => {
  const started = await cluster(t)
  const url = `${started.url}&nodePreference=follower`
  const found = new Set<number | undefined>()
  for (let n = 0; n < 30; n++) found.add(await find(started, { url }))
  t.strictSame([...found].sort(), [1, 2])
})

t.test('asks all addresses of a name', async (t) => {
  const started = await cluster(t)
  const { lookup } = dns
  t.teardown(() => {
    dns.lookup = lookup
    syncBuiltinESMExports()
  })
  dns.lookup = (async () => fakeAddresses.map((address) => ({ address, family: 4 }))) as unknown as typeof lookup
  syncBuiltinESMExports()
  const url = started.url.replace('esdb:', 'esdb+discover:').replace(/@([^:]+):(\d+)[^?]*/, '@cluster.example:$2')
  for (const responding of started.nodes) {
    started.elect(undefined)
    responding.leader = 2
    t.equal(await find(started, { url }), 2)
  }
})

t.test('calls wait for a leader, and are sent when it is known', async (t) => {
  const started = await cluster(t)
  started.elect(undefined)
  const store = openEventStoreDb({ url: started.url, deadlineMs: 60_000 })
  const appended = store.append('x', 'no_stream', [event()])
  const read = store.readStream('x')
  await until(() => started.nodes.every(({ gossipRequests }) => gossipRequests >= 3))
  started.elect(1)
  t.equal((await appended).revision, 0)
  t.ok((await read).length <= 1)
  started.nodes[1]!.behaviour = 'refuses'
  started.elect(2)
  t.equal(
    (await store.append('y', 'no_stream', [event()]).catch(() => store.append('y', 'no_stream', [event()]))).revision,
    0,
  )
  await store.close()
})

t.test('calls fail after the deadline, and when the store closes', async (t) => {
  const started = await cluster(t)
  started.elect(undefined)
  const store = openEventStoreDb({ url: started.url, deadlineMs: 300 })
  await t.rejects(store.append('x', 'no_stream', [event()]), { ...unavailable, message: /the cluster has no leader/ })
  const following = (async () => {
    for await (const _ of store.subscribeToAll({ signal: new AbortController().signal }));
  })()
  await t.rejects(following, unavailable)
  const patient = openEventStoreDb({ url: started.url, deadlineMs: 60_000 })
  const waiting = patient.append('x', 'no_stream', [event()])
  await until(() => started.nodes.every(({ gossipRequests }) => gossipRequests >= 3))
  await Promise.all([t.rejects(waiting, unavailable), patient.close(), store.close()])
})

t.test('sends credentials without TLS to loopback addresses only', async (t) => {
  const address = (text: string) => isOfThisMachine({ address: text, port: 2113 })
  t.ok(['127.0.0.1', '127.1.2.3', 'localhost', '::1', '[::1]'].every(address))
  t.notOk(['10.0.0.1', '127.0.0.1.example', 'localhost.example', '::2', '0.0.0.0'].some(address))
})
