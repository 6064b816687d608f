import { randomUUID } from 'node:crypto'
import t from 'tap'
import { passOver } from '../../src/commands/problems.js'
import { passedOverStream } from '../../src/domain/streams.js'
import { passingOver } from '../../src/event-store/passing-over.js'
import { allProjections } from '../../src/projections/all.js'
import { readCheckpoint } from '../../src/projections/checkpoints.js'
import type { Projection } from '../../src/projections/projection.js'
import {
  type RebuildProgress,
  rebuildProjection,
  UnknownProjectionError,
} from '../../src/projections/rebuild/rebuild-command.js'
import { startProjections } from '../../src/projections/start.js'
import { projectionStatus } from '../../src/projections/status.js'
import { totalsProjection } from '../../src/projections/totals.js'
import { transfersProjection } from '../../src/projections/transfers.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { aroundWrites, type TestStores, testStores, until } from './stores.js'

const never = new AbortController().signal

async function progressOf(stores: TestStores, name: string, projections?: readonly Projection[]) {
  const progress: RebuildProgress[] = []
  for await (const step of rebuildProjection(stores, name, never, projections)) progress.push(step)
  return progress
}

async function spoil(stores: TestStores): Promise<void> {
  const [first] = await stores.readModels.collection('transfers').find({}, { limit: 1 })
  const update = { $set: { message: 'spoilt' } }
  await stores.readModels.collection('transfers').bulkWrite([{ updateOne: { filter: { _id: first!._id }, update } }])
}

t.test('a rebuild beside a running service repairs the documents while transfers go on', async (t) => {
  const stores = await testStores(t)
  await stores.work(200)
  const running = startProjections(stores)
  await stores.caughtUp()
  await spoil(stores)
  const counts: number[] = []
  let rebuilding = true
  const going = (async () => {
    while (rebuilding) {
      await stores.work(5)
      counts.push(await stores.readModels.collection('transfers').countDocuments({}))
    }
  })()
  const progress = await progressOf(stores, 'transfers')
  rebuilding = false
  await going
  t.strictSame([progress[0]?.state, progress.at(-1)?.state], ['requested', 'done'])
  t.ok(Number(progress.at(-1)?.position) >= Number(progress.at(-1)?.end), 'came as far as the end it began with')
  t.strictSame(
    counts,
    [...counts].sort((a, b) => a - b),
    'readers never saw fewer documents',
  )
  await stores.caughtUp()
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
  t.match((await projectionStatus(stores))[0], { name: 'transfers', state: 'current', rebuild: { state: 'done' } })
  await running.stop()
})

t.test('a rebuild where no service runs is done by whoever asks', async (t) => {
  const stores = await testStores(t)
  await stores.work(20)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
  await spoil(stores)
  t.equal((await progressOf(stores, 'transfers')).at(-1)?.state, 'done')
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
  t.equal((await projectionStatus(stores))[0]?.holder, null, 'the lease is free again')
})

t.test('every projection can be built from nothing by a rebuild', async (t) => {
  const stores = await testStores(t)
  await stores.work(20)
  for (const { name } of allProjections) t.equal((await progressOf(stores, name)).at(-1)?.state, 'done', name)
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
})

t.test('a rebuild that is cut short leaves the old documents serving, and the next one starts afresh', async (t) => {
  const stores = await testStores(t)
  await stores.work(40)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
  const served = await storedDocuments(stores.readModels)

  // As a process that dies after it has written half of the new documents.
  const dying = new AbortController()
  const readModels = aroundWrites(stores.readModels, async (collection, write) => {
    const result = await write()
    if (collection.startsWith('totals__rebuild_')) dying.abort()
    return result
  })
  for await (const _ of rebuildProjection({ ...stores, readModels }, 'totals', dying.signal));
  t.ok((await stores.readModels.listCollections()).some((name) => name.startsWith('totals__rebuild_')))
  t.strictSame(await storedDocuments(stores.readModels), served)

  await stores.work(10)
  const again = startProjections(stores)
  await stores.caughtUp()
  t.notOk((await stores.readModels.listCollections()).some((name) => name.includes('__rebuild_')))
  t.match((await projectionStatus(stores)).find(({ name }) => name === 'totals')?.rebuild, {
    state: 'failed',
    reason: 'it was interrupted',
  })
  t.equal((await progressOf(stores, 'totals')).at(-1)?.state, 'done')
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
  await again.stop()
})

t.test('a rebuild that meets an event it cannot apply says so, and the old documents stay', async (t) => {
  const stores = await testStores(t)
  await stores.work(5)
  const running = startProjections(stores, [transfersProjection])
  await stores.caughtUp(['transfers'])
  const served = (await storedDocuments(stores.readModels)).transfers
  await stores.store.append('transfer-x', 'no_stream', [
    { id: 'aa0e8400-e29b-41d4-a716-446655440000', type: 'Unknown', data: {}, metadata: { schemaVersion: 1 } },
  ])
  t.match((await progressOf(stores, 'transfers')).at(-1), { state: 'failed', reason: /unknown event Unknown/ })
  t.strictSame((await storedDocuments(stores.readModels)).transfers, served)
  await running.stop()
})

t.test('a rebuild at the start that stood still at a bad event is done once that is passed over', async (t) => {
  const stores = await testStores(t)
  const store = passingOver(stores.store)
  await stores.work(5)
  const first = startProjections(stores, [transfersProjection])
  await stores.caughtUp(['transfers'])
  await first.stop()
  const id = randomUUID()
  const event = { id, type: 'Unknown', data: {}, metadata: { schemaVersion: 1 } }
  await stores.store.append(`transfer-${id}`, 'no_stream', [event])
  await stores.work(5)
  const next: Projection = { ...transfersProjection, version: transfersProjection.version + 1 }
  const second = startProjections({ ...stores, store }, [next])
  const checkpoint = () => readCheckpoint(stores.readModels, 'transfers')
  await until(async () => (await checkpoint())?.failure !== undefined)
  t.match((await checkpoint())?.failure, { stream: `transfer-${id}`, revision: 0 }, 'it is named')
  t.equal((await stores.readModels.collection('transfers').find({})).length, 5, 'the old documents are served')
  const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }
  const target = { stream: `transfer-${id}`, revision: 0, reason: 'a test' }
  t.match(await passOver({ store, clock: stores.clock }, target, context), { accepted: true })
  await store.readStream(passedOverStream)
  await until(async () => (await checkpoint())?.version === next.version)
  await stores.work(5)
  await until(async () => (await stores.readModels.collection('transfers').find({})).length === 15)
  t.equal((await checkpoint())?.failure, undefined)
  await second.stop()
})

t.test('a projection whose version is another than that of its documents is rebuilt at the start', async (t) => {
  const stores = await testStores(t)
  await stores.work(20)
  const first = startProjections(stores, [totalsProjection])
  await stores.caughtUp(['totals'])
  await first.stop()
  const next: Projection = {
    ...totalsProjection,
    version: 2,
    apply: (batch, documents) =>
      totalsProjection.apply(batch, documents).map((operation) => {
        if (!('replaceOne' in operation)) return operation
        const { filter, replacement } = operation.replaceOne
        return { replaceOne: { filter, replacement: { ...replacement, shape: 2 }, upsert: true } }
      }),
  }
  const second = startProjections(stores, [next])
  await until(async () => (await readCheckpoint(stores.readModels, 'totals'))?.version === 2)
  await stores.work(10)
  await stores.caughtUp(['totals'])
  const documents = await stores.readModels.collection('totals').find({})
  t.strictSame([...new Set(documents.map(({ shape }) => shape))], [2])
  const counted = documents.reduce((sum, { count }) => sum + (count as number), 0)
  const transferEvents = (await wholeLog(stores.store)).filter(({ stream }) => stream.startsWith('transfer-'))
  t.equal(counted, transferEvents.length, 'no event is missing and none counted twice')
  await second.stop()
})

t.test(
  'read models of a log that was since copied to other positions are built anew, and nothing counts twice',
  async (t) => {
    const before = await testStores(t)
    await before.work(20)
    const first = startProjections(before)
    await before.caughtUp()
    await first.stop()
    const log = await wholeLog(before.store)
    const { store } = await testStores(t)
    for (const { stream, revision, id, type, data, metadata } of log) {
      // Between any two there is one of another stream, so that no position stays and none is beyond the end.
      await store.append(`between-${id}`, 'no_stream', [{ id: randomUUID(), type: 'Between', data: {}, metadata: {} }])
      await store.append(stream, revision === 0 ? 'no_stream' : revision - 1, [{ id, type, data, metadata }])
    }
    const moved = { ...before, store }
    t.match(
      (await projectionStatus(moved)).map(({ name, state }) => [name, state]),
      [
        ['transfers', 'outdated'],
        ['callbacks', 'current'],
        ['totals', 'outdated'],
        ['transfer-events', 'outdated'],
        ['problems', 'outdated'],
      ],
    )
    const second = startProjections(moved)
    await until(async () =>
      (await projectionStatus(moved)).every(({ state }) => state === 'current' || state === 'new'),
    )
    await second.stop()
    const copied = (await wholeLog(store)).filter(({ stream }) => stream.startsWith('transfer-'))
    t.strictSame(await storedDocuments(before.readModels), expectedDocuments(copied))
  },
)

t.test('there is no rebuild of what is no projection', async (t) => {
  const stores = await testStores(t)
  await t.rejects(progressOf(stores, 'nothing'), UnknownProjectionError)
})
