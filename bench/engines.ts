/**
 * The same work on every engine, in one table. `npm run bench -- engines`; sizes by BENCH_TRANSFERS (2 events each) and
 * BENCH_SECONDS. Real servers are measured where TEST_EVENTSTORE_URL and TEST_MONGODB_URL name them; take empty ones.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedEventStore } from '../src/event-store/embedded.js'
import { endOfLog } from '../src/event-store/end-of-log.js'
import {
  type Append,
  defaultPersistentSubscriptionSettings,
  type EventStore,
  type Position,
} from '../src/event-store/event-store.js'
import { openEventStoreDb } from '../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { totalsProjection } from '../src/projections/totals.js'
import { transferEventsProjection } from '../src/projections/transfer-events.js'
import { transfersProjection } from '../src/projections/transfers.js'
import { openEmbeddedReadModels } from '../src/read-models/embedded/embedded-read-models.js'
import { openMongodbReadModels } from '../src/read-models/mongodb/mongodb-read-models.js'
import type { ReadModels } from '../src/read-models/read-models.js'
import { startEventsServerProcess } from '../test/support/events-server.js'
import { mongodbUrl } from '../test/support/mongodb.js'
import { measureProjection } from './support/measure-projection.js'
import { transferAppends } from './support/transfer-log.js'

const transfers = Number(process.env.BENCH_TRANSFERS ?? 20_000)
const roundMs = Number(process.env.BENCH_SECONDS ?? 3) * 1_000
const run = randomBytes(4).toString('hex')
const prefix = `bench-${run}-`
const clean: (() => unknown)[] = []

/** Rows by what was measured, in the order they came; columns by engine. */
type Table = Map<string, Map<string, string>>

function put(table: Table, row: string, column: string, perSecond: number): void {
  const cells = table.get(row) ?? new Map<string, string>()
  table.set(row, cells.set(column, Math.round(perSecond).toLocaleString('en')))
}

function print(title: string, table: Table): void {
  const columns = [...new Set([...table.values()].flatMap((cells) => [...cells.keys()]))]
  const width = Math.max(...[...table.keys(), title].map((row) => row.length))
  const widths = columns.map((column) => Math.max(column.length, 9))
  console.log(`\n${title.padEnd(width)}  ${columns.map((column, n) => column.padStart(widths[n]!)).join('  ')}`)
  for (const [row, cells] of table)
    console.log(
      `${row.padEnd(width)}  ${columns.map((column, n) => (cells.get(column) ?? '-').padStart(widths[n]!)).join('  ')}`,
    )
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-bench-'))
  clean.push(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** By as many callers, each with its next append when the one before was answered, for a while. */
async function appendsPerSecond(store: EventStore, callers: number): Promise<number> {
  const appends = transferAppends(10_000_000, 10_000_000, `other-${prefix}${callers}-`)
  return inFlight(callers, () => {
    const { stream, expectedRevision, events } = appends.next().value as Append
    return store.append(stream, expectedRevision, events)
  })
}

async function inFlight(callers: number, call: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now()
  let calls = 0
  const caller = async () => {
    for (; performance.now() - startedAtMs < roundMs; calls++) await call()
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (calls / (performance.now() - startedAtMs)) * 1_000
}

/** Creations all at once, completions after them: each stream has its two events in order. */
async function fill(store: EventStore): Promise<Append[]> {
  const all = [...transferAppends(transfers, transfers, prefix)]
  for (let from = 0; from < all.length; from += 1_000) {
    await Promise.all(
      all.slice(from, from + 1_000).map((one) => store.append(one.stream, one.expectedRevision, one.events)),
    )
  }
  return all
}

async function timed(events: number, work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now()
  await work()
  return (events / (performance.now() - startedAtMs)) * 1_000
}

async function followed(store: EventStore, after: Position | undefined, events: number): Promise<void> {
  const stopping = new AbortController()
  let seen = 0
  const options = { ...(after && { after }), streamPrefixes: [prefix], signal: stopping.signal }
  for await (const page of store.subscribeToAll(options)) {
    seen += page.events.length
    if (seen >= events) stopping.abort()
  }
}

async function consumed(store: EventStore, after: Position | undefined, events: number): Promise<void> {
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

async function measureStore(table: Table, name: string, store: EventStore): Promise<void> {
  console.error(`measuring ${name}`)
  const after = await endOfLog(store)
  const log = await fill(store)
  for (const callers of [1, 64])
    put(table, `appends, ${callers} at a time`, name, await appendsPerSecond(store, callers))
  let next = 0
  const readOne = () => store.readStream(log[next++ % transfers]!.stream)
  put(table, 'streams of 2 events read, 16 at a time', name, await inFlight(16, readOne))
  const events = transfers * 2
  put(table, 'events of a subscription', name, await timed(events, () => followed(store, after, events)))
  put(
    table,
    'events consumed and acknowledged in a group',
    name,
    await timed(events, () => consumed(store, after, events)),
  )
  const readModels = await openEmbeddedReadModels({ directory: temporaryDirectory() })
  const projection = { ...transfersProjection, streamPrefixes: [prefix] }
  const last = { stream: log.at(-1)!.stream, revision: 1 }
  const { rate } = await measureProjection(store, readModels, projection, { events, last })
  put(table, 'events projected: transfers, embedded models', name, rate)
  await readModels.close()
}

async function measureReadModels(table: Table, name: string, readModels: ReadModels, store: EventStore, last: Append) {
  console.error(`measuring ${name}`)
  for (const projection of [transfersProjection, totalsProjection, transferEventsProjection]) {
    const log = { events: transfers * 2, last: { stream: last.stream, revision: 1 } }
    const { rate } = await measureProjection(store, readModels, { ...projection, streamPrefixes: [prefix] }, log)
    put(table, `events projected: ${projection.name}`, name, rate)
  }
}

async function eventStores(notRun: string[]): Promise<void> {
  const table: Table = new Map()
  const embedded = await openEmbeddedEventStore({ directory: temporaryDirectory() })
  await measureStore(table, 'embedded', embedded)
  await embedded.close()
  const server = await startEventsServerProcess({ teardown: (work) => clean.push(work) }, temporaryDirectory())
  const served = openEventStoreDb({ url: server.url })
  await measureStore(table, 'adapter on events serve', served)
  await served.close()
  await server.end('SIGTERM')
  const url = process.env.TEST_EVENTSTORE_URL?.trim()
  if (url) {
    const real = openEventStoreDb({ url })
    await measureStore(table, 'EventStoreDB', real)
    await real.close()
  } else notRun.push('EventStoreDB: TEST_EVENTSTORE_URL names no server')
  print('event stores, per second', table)
}

async function readModelStores(notRun: string[]): Promise<void> {
  const table: Table = new Map()
  const directory = temporaryDirectory()
  const store = await openEmbeddedEventStore({ directory })
  const last = (await fill(store)).at(-1)!
  const embedded = await openEmbeddedReadModels({ directory })
  await measureReadModels(table, 'embedded', embedded, store, last)
  await embedded.close()
  const url = process.env.TEST_MONGODB_URL?.trim()
  if (url) {
    const mongodb = openMongodbReadModels({ url: mongodbUrl(url, `transferd_bench_${run}`) })
    await measureReadModels(table, 'MongoDB', mongodb, store, last)
    for (const name of await mongodb.listCollections()) await mongodb.drop(name)
    await mongodb.close()
  } else notRun.push('MongoDB: TEST_MONGODB_URL names no server')
  await store.close()
  print('read models, over the embedded log, per second', table)
}

const notRun: string[] = []
try {
  console.log(`${transfers.toLocaleString('en')} transfers of two events; engines, servers and load share this machine`)
  await eventStores(notRun)
  await readModelStores(notRun)
  for (const what of notRun) console.log(`NOT RUN: ${what}`)
} finally {
  for (const undo of clean.reverse()) undo()
}
