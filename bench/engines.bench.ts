/**
 * Measures the whole service on every event store, with the calls to it per create and per callback, and then the same work on every
 * engine. BENCH_ROUNDS, BENCH_CALLBACKS, BENCH_TRANSFERS (two events each) and BENCH_SECONDS set the size. TEST_EVENTSTORE_URL and
 * TEST_MONGODB_URL add an EventStoreDB and a MongoDB, which should be empty.
 */
import { randomBytes } from 'node:crypto'
import { openEventLog } from '@transferd/event-log'
import {
  type Append,
  defaultPersistentSubscriptionSettings,
  type EventStore,
  endOfLog,
  type Position,
} from '../src/event-store/event-store.js'
import { openEventStoreDb } from '../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { totalsProjection } from '../src/projections/transfer-totals.js'
import { transferEventsProjection, transfersProjection } from '../src/projections/transfers-projection.js'
import { openEmbeddedReadModels } from '../src/read-models/embedded/embedded-read-models.js'
import { openMongodbReadModels } from '../src/read-models/mongodb/mongodb-read-models.js'
import type { ReadModels } from '../src/read-models/read-models.js'
import { startEventsServerProcess } from '../test/support/events-server.js'
import { mongodbUrl } from '../test/support/mongodb.js'
import { type Cleanup, runPart } from './support/bench-part.js'
import { startReceiver } from './support/bench-receiver.js'
import { note, row, title } from './support/bench-report.js'
import { measureProjection } from './support/measure-projection.js'
import { measureOnEngine, reportOnEngine, startOnEngine } from './support/service-on-engine.js'
import { temporaryDirectory } from './support/temporary-directory.js'
import { transferAppends } from './support/transfer-log.js'

const transfers = Number(process.env.BENCH_TRANSFERS ?? 20_000)
const roundMs = Number(process.env.BENCH_SECONDS ?? 3) * 1_000
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const callbacks = Number(process.env.BENCH_CALLBACKS ?? 4_000)
const run = randomBytes(4).toString('hex')
const prefix = `bench-${run}-`

/** Measures appends by several callers, each of which waits for its previous append. */
async function appendsPerSecond(store: EventStore, callers: number): Promise<number> {
  const appends = transferAppends(10_000_000, 10_000_000, `other-${prefix}${callers}-`)
  return callsPerSecond(callers, () => {
    const { stream, expectedRevision, events } = appends.next().value as Append
    return store.append(stream, expectedRevision, events)
  })
}

async function callsPerSecond(callers: number, call: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now()
  let calls = 0
  const caller = async () => {
    for (; performance.now() - startedAtMs < roundMs; calls++) await call()
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (calls / (performance.now() - startedAtMs)) * 1_000
}

/** Appends all creations before the completions, so that the two events of each stream are in order. */
async function fill(store: EventStore): Promise<Append[]> {
  const all = [...transferAppends(transfers, transfers, prefix)]
  for (let from = 0; from < all.length; from += 1_000) {
    await Promise.all(
      all.slice(from, from + 1_000).map((one) => store.append(one.stream, one.expectedRevision, one.events)),
    )
  }
  return all
}

async function eventsPerSecond(events: number, work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now()
  await work()
  return (events / (performance.now() - startedAtMs)) * 1_000
}

async function subscribe(store: EventStore, after: Position | undefined, events: number): Promise<void> {
  const stopping = new AbortController()
  let seen = 0
  const options = { ...(after && { after }), streamPrefixes: [prefix], signal: stopping.signal }
  for await (const page of store.subscribeToAll(options)) {
    seen += page.events.length
    if (seen >= events) stopping.abort()
  }
}

async function consume(store: EventStore, after: Position | undefined, events: number): Promise<void> {
  const groups = store.persistentSubscriptions
  await groups.create(`bench-${run}`, {
    ...defaultPersistentSubscriptionSettings,
    startFrom: after ?? 'start',
    streamPrefixes: [prefix],
    readBatchSize: 500,
    historyBufferSize: 2_000,
    liveBufferSize: 2_000,
  })
  const stopping = new AbortController()
  const consumer = await groups.consume(`bench-${run}`, { bufferSize: 500, signal: stopping.signal })
  let seen = 0
  let acks: string[] = []
  for await (const { ackId } of consumer) {
    seen += 1
    acks.push(ackId)
    if (acks.length < 100 && seen < events) continue
    await consumer.ack(...acks)
    acks = []
    if (seen === events) stopping.abort()
  }
  await consumer.close()
  await groups.delete(`bench-${run}`)
}

async function measureStore(name: string, store: EventStore, cleanup: Cleanup): Promise<void> {
  const after = await endOfLog(store)
  const log = await fill(store)
  for (const callers of [1, 64]) row(name, `appends, ${callers} callers`, [await appendsPerSecond(store, callers)])
  let next = 0
  const readOne = () => store.readStream(log[next++ % transfers]!.stream)
  row(name, 'reads of a stream of 2 events, 16 callers', [await callsPerSecond(16, readOne)])
  const events = transfers * 2
  row(name, 'events of a subscription', [await eventsPerSecond(events, () => subscribe(store, after, events))])
  const consumed = await eventsPerSecond(events, () => consume(store, after, events))
  row(name, 'events consumed and acknowledged in a group', [consumed])
  const readModels = await openEmbeddedReadModels({ directory: temporaryDirectory(cleanup) })
  const projection = { ...transfersProjection, streamPrefixes: [prefix] }
  const last = { stream: log.at(-1)!.stream, revision: 1 }
  const { rate } = await measureProjection(store, readModels, projection, { events, last })
  row(name, 'events projected: transfers, embedded read models', [rate])
  await readModels.close()
}

async function measureReadModels(name: string, readModels: ReadModels, store: EventStore, last: Append) {
  for (const projection of [transfersProjection, totalsProjection, transferEventsProjection]) {
    const log = { events: transfers * 2, last: { stream: last.stream, revision: 1 } }
    const { rate } = await measureProjection(store, readModels, { ...projection, streamPrefixes: [prefix] }, log)
    row(name, `events projected: ${projection.name}`, [rate])
  }
}

async function measureEventStores(cleanup: Cleanup): Promise<void> {
  const embedded = await openEventLog({ directory: temporaryDirectory(cleanup) })
  await measureStore('embedded', embedded, cleanup)
  await embedded.close()
  const server = await startEventsServerProcess({ teardown: (work) => cleanup(work) }, temporaryDirectory(cleanup))
  const served = openEventStoreDb({ url: server.url })
  await measureStore('adapter and events serve-grpc', served, cleanup)
  await served.close()
  await server.end('SIGTERM')
  const url = process.env.TEST_EVENTSTORE_URL?.trim()
  if (url) {
    const real = openEventStoreDb({ url })
    await measureStore('EventStoreDB', real, cleanup)
    await real.close()
  } else note('NOT RUN: EventStoreDB, because TEST_EVENTSTORE_URL is not set')
}

/** Measures the whole service on each engine in alternating rounds, after one round to compile the code. */
async function measureServices(cleanup: Cleanup): Promise<void> {
  const receiver = await startReceiver()
  cleanup(receiver.stop)
  const server = await startEventsServerProcess({ teardown: (work) => cleanup(work) }, temporaryDirectory(cleanup))
  const engines = [
    await startOnEngine('embedded', receiver, cleanup),
    await startOnEngine('adapter and events serve-grpc', receiver, cleanup, server.url, { server: server.pid }),
  ]
  const url = process.env.TEST_EVENTSTORE_URL?.trim()
  if (url) engines.push(await startOnEngine('EventStoreDB', receiver, cleanup, url))
  for (let round = 0; round <= rounds; round++) {
    for (const engine of round % 2 === 0 ? engines : engines.toReversed())
      await measureOnEngine(engine, receiver, { durationMs: roundMs, callbacks })
  }
  for (const { rounds } of engines) rounds.shift()
  for (const engine of engines) reportOnEngine(engine, engines[0]!)
}

async function measureReadModelStores(cleanup: Cleanup): Promise<void> {
  const directory = temporaryDirectory(cleanup)
  const store = await openEventLog({ directory })
  const last = (await fill(store)).at(-1)!
  const embedded = await openEmbeddedReadModels({ directory })
  await measureReadModels('embedded', embedded, store, last)
  await embedded.close()
  const url = process.env.TEST_MONGODB_URL?.trim()
  if (url) {
    const mongodb = openMongodbReadModels({ url: mongodbUrl(url, `transferd_bench_${run}`) })
    await measureReadModels('MongoDB', mongodb, store, last)
    for (const name of await mongodb.listCollections()) await mongodb.drop(name)
    await mongodb.close()
  } else note('NOT RUN: MongoDB, because TEST_MONGODB_URL is not set')
  await store.close()
}

await runPart(async (cleanup) => {
  title(`engines, per second; ${transfers.toLocaleString('en')} transfers of two events`)
  await measureServices(cleanup)
  await measureEventStores(cleanup)
  await measureReadModelStores(cleanup)
})
