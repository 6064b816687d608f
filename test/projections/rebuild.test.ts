import { randomUUID } from 'node:crypto'
import t from 'tap'
import { skipEvent } from '../../src/commands/skip-events.js'
import { skippedEventsStream } from '../../src/domain/streams.js'
import type { Position } from '../../src/event-store/event-store.js'
import { skipEvents } from '../../src/event-store/skipped-events.js'
import { allProjections } from '../../src/projections/all.js'
import { nowhere, readCheckpoint } from '../../src/projections/checkpoints.js'
import type { Projection } from '../../src/projections/projection.js'
import { projectionStatus } from '../../src/projections/projection-status.js'
import { Build, type BuildProgress, besideName } from '../../src/projections/rebuild/build.js'
import { catchUp } from '../../src/projections/rebuild/pass.js'
import { startProjections } from '../../src/projections/start.js'
import { type Asked, Tasks } from '../../src/projections/tasks/tasks.js'
import { projectionNamed, UnknownProjectionError, watchTasks } from '../../src/projections/tasks/watch.js'
import { totalsProjection } from '../../src/projections/transfer-totals.js'
import { transfersProjection } from '../../src/projections/transfers.js'
import {
  allMerchants,
  collections,
  type TaskDocument,
  totalPeriods,
  totalsOf,
} from '../../src/read-models/documents.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { type TestStores, testStores, until } from './stores.js'

const never = new AbortController().signal

/** Asks, and hands back how each look at it found the task. */
async function progressOf(
  stores: TestStores,
  name: string,
  asked: Partial<Asked> = {},
  projections?: readonly Projection[],
) {
  const { task } = await new Tasks(stores.readModels, stores.clock).ask(name, { what: 'rebuild', by: 'test', ...asked })
  const progress: (TaskDocument | null)[] = []
  for await (const watched of watchTasks(stores, [task], never, projections)) progress.push(watched.get(name)!)
  return progress
}

async function outcomeOf(...args: Parameters<typeof progressOf>): Promise<TaskDocument | null> {
  return (await progressOf(...args)).at(-1) ?? null
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
  const first = (await stores.readModels.collection('transfers').find({})).find(({ message }) => message === 'spoilt')
  const progress = await progressOf(stores, 'transfers')
  t.strictSame([progress[0]?.state, progress.at(-1)?.state], ['requested', 'done'])
  for (const { reached = '0', end = '0' } of progress.flatMap((task) => task ?? []))
    t.ok(BigInt(reached) <= BigInt(end), 'never further than to where it is to come')
  t.match(progress.at(-1)?.comparison, { differing: 1, differences: [first!._id] }, 'what was spoilt is named')
  t.match(await stores.readModels.collection('transfers').findOne({ _id: first!._id }), { message: 'spoilt' })
  t.match(await outcomeOf(stores, 'transfers', { what: 'switch' }), { state: 'done' })
  rebuilding = false
  await going
  t.strictSame(
    counts,
    [...counts].sort((a, b) => a - b),
    'readers never saw fewer documents',
  )
  await stores.caughtUp()
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
  t.match((await projectionStatus(stores))[0], { name: 'transfers', state: 'current', task: { state: 'done' } })
  t.match(await outcomeOf(stores, 'transfers', { what: 'verify' }), { state: 'done', comparison: { differing: 0 } })
  await running.stop()
})

t.test('a rebuild where no service runs is done by whoever asks', async (t) => {
  const stores = await testStores(t)
  await stores.work(20)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
  await stores.work(5)
  t.match(await outcomeOf(stores, 'transfers'), { state: 'done', comparison: { differing: 0 } })
  const { transfers } = await storedDocuments(stores.readModels)
  t.strictSame(transfers, expectedDocuments(await wholeLog(stores.store)).transfers)
  t.equal((await projectionStatus(stores))[0]?.holder, null, 'the lease is free again')
})

t.test('every projection can be built from nothing by a rebuild', async (t) => {
  const stores = await testStores(t)
  await stores.work(20)
  for (const { name } of allProjections) t.equal((await outcomeOf(stores, name))?.state, 'done', name)
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
})

t.test('a rebuild whose process was killed goes on where it was, and the old documents serve meanwhile', async (t) => {
  const stores = await testStores(t)
  await stores.work(40)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
  const served = await storedDocuments(stores.readModels)
  const half = (await wholeLog(stores.store))[25]!
  await interruptedRebuild(stores, totalsProjection, half.position)
  t.strictSame(await storedDocuments(stores.readModels), served)

  // What is in the unfinished documents only is there in the end when they were not begun again.
  const [unfinished] = (await stores.readModels.listCollections()).filter((name) => name.startsWith('totals__rebuild_'))
  await stores.readModels.collection(unfinished!).put([{ _id: 'left by the one that died' }])
  const again = startProjections(stores)
  await until(async () => (await new Tasks(stores.readModels, stores.clock).find('totals'))?.state === 'done')
  const { task, built } = (await projectionStatus(stores)).find(({ name }) => name === 'totals')!
  t.match(task, {
    what: 'rebuild',
    by: 'cli:ada',
    comparison: { differing: 1, differences: ['left by the one that died'] },
  })
  t.match(built, { version: totalsProjection.version, comparison: { differing: 1 } }, 'it waits for a decision')
  t.strictSame(await storedDocuments(stores.readModels), served)
  t.notOk((await stores.readModels.listCollections()).some((name) => name.includes('__rebuild_')))
  await again.stop()
})

t.test('a task that kills whoever works on it is given up', async (t) => {
  const stores = await testStores(t)
  await stores.work(10)
  const half = (await wholeLog(stores.store))[5]!
  await interruptedRebuild(stores, totalsProjection, half.position)
  const tasks = stores.readModels.collection(collections.projectionTasks)
  await tasks.bulkWrite([{ updateOne: { filter: { _id: 'totals' }, update: { $set: { interruptions: 7 } } } }])
  const running = startProjections(stores, [totalsProjection])
  await until(async () => (await tasks.findOne({ _id: 'totals' }))?.state === 'failed')
  t.match(await tasks.findOne({ _id: 'totals' }), { reason: 'it was interrupted 8 times at the same place' })
  await running.stop()
})

/** What a process leaves that is killed in the middle of a rebuild. */
async function interruptedRebuild(stores: TestStores, projection: Projection, to: Position): Promise<void> {
  const { store, readModels, clock } = stores
  const tasks = new Tasks(readModels, clock)
  const { task } = await tasks.ask(projection.name, { what: 'rebuild', by: 'cli:ada' })
  const taken = await tasks.take(task, 1, 0)
  const collection = besideName(projection, { token: 1 })
  await readModels.createUnfilled(collection, projection.indexes)
  const onProgress = ({ written }: BuildProgress) =>
    tasks.report(taken!, { beside: { ...written, collection, version: projection.version } })
  const lease = { token: 1, signal: never }
  const parts = { store, readModels, projection, lease, collection, place: nowhere, limit: () => to, onProgress }
  const build = new Build(parts)
  await catchUp(store, build)
  await build.flush()
}

t.test('an event that cannot be applied stops a rebuild where it stopped the documents in use', async (t) => {
  const stores = await testStores(t)
  await stores.work(5)
  const running = startProjections(stores, [transfersProjection])
  await stores.caughtUp(['transfers'])
  const served = (await storedDocuments(stores.readModels)).transfers
  await stores.store.append('transfer-x', 'no_stream', [
    { id: 'aa0e8400-e29b-41d4-a716-446655440000', type: 'Unknown', data: {}, metadata: { schemaVersion: 1 } },
  ])
  t.match(await outcomeOf(stores, 'transfers'), { state: 'done' }, 'up to the event, as the documents in use')
  t.strictSame((await storedDocuments(stores.readModels)).transfers, served)
  t.match((await readCheckpoint(stores.readModels, 'transfers'))?.failure, { stream: 'transfer-x', revision: 0 })
  await running.stop()
})

t.test('a rebuild at the start that stopped at a bad event completes once the event is skipped', async (t) => {
  const stores = await testStores(t)
  const store = skipEvents(stores.store)
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
  t.match(await skipEvent({ store, clock: stores.clock }, target, context), { accepted: true })
  await store.readStream(skippedEventsStream)
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
    version: totalsProjection.version + 1,
    apply: (batch, documents) =>
      totalsProjection.apply(batch, documents).map((operation) => {
        if (!('replaceOne' in operation)) return operation
        const { filter, replacement } = operation.replaceOne
        return { replaceOne: { filter, replacement: { ...replacement, shape: 2 }, upsert: true } }
      }),
  }
  const second = startProjections(stores, [next])
  await until(async () => (await readCheckpoint(stores.readModels, 'totals'))?.version === next.version)
  await stores.work(10)
  await stores.caughtUp(['totals'])
  const documents = await stores.readModels.collection('totals').find({})
  t.strictSame([...new Set(documents.map(({ shape }) => shape))], [2])
  const inDays = documents.filter(({ _id }) => _id.startsWith(totalsOf(allMerchants, totalPeriods.day)))
  const counted = inDays.reduce((sum, { count }) => sum + (count as number), 0)
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
        ['transfer-terms', 'outdated'],
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
  t.throws(() => projectionNamed('nothing'), UnknownProjectionError)
})
