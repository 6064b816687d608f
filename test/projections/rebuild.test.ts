import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { skipEvent } from '../../src/commands/skip-events.js'
import { skippedEventsStream } from '../../src/domain/streams.js'
import { type Position, reservationIn } from '../../src/event-store/event-store.js'
import { skipEvents } from '../../src/event-store/read-event.js'
import { allProjections, projectionNamed, UnknownProjectionError } from '../../src/projections/all-projections.js'
import type { Projection } from '../../src/projections/projection.js'
import { ProjectionPointer, readPointer } from '../../src/projections/projection-pointer.js'
import { projectionStatus } from '../../src/projections/projection-status.js'
import { type ProjectionTask, ProjectionTasks, type TaskRequest } from '../../src/projections/projection-tasks.js'
import { Build } from '../../src/projections/rebuild/build.js'
import { BufferedDocuments } from '../../src/projections/rebuild/build-documents.js'
import { catchUp } from '../../src/projections/rebuild/log-pass.js'
import { startProjections, watchTasks } from '../../src/projections/start-projections.js'
import { totalsProjection } from '../../src/projections/transfer-totals.js'
import { transfersProjection } from '../../src/projections/transfers-projection.js'
import { allMerchants, totalPeriods, totalsPrefix } from '../../src/read-models/documents.js'
import { buildName } from '../../src/read-models/read-models-adapter.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { until } from '../support/until.js'
import { type TestStores, testStores } from './stores.js'

const never = new AbortController().signal

/** Requests a task and returns each of its states. */
async function progressOf(
  stores: TestStores,
  name: string,
  request: Partial<TaskRequest> = {},
  projections?: readonly Projection[],
) {
  const tasks = new ProjectionTasks(stores.readModels, stores.clock)
  const { task } = await tasks.request(name, { what: 'rebuild', by: 'test', ...request })
  const progress: (ProjectionTask | null)[] = []
  for await (const watched of watchTasks(stores, [task], never, projections)) progress.push(watched.get(name)!)
  return progress
}

async function outcomeOf(...args: Parameters<typeof progressOf>): Promise<ProjectionTask | null> {
  return (await progressOf(...args)).at(-1) ?? null
}

async function changeDocument(stores: TestStores): Promise<string> {
  const [first] = await stores.readModels.collection('transfers').find({}, { limit: 1 })
  const update = { $set: { message: 'spoilt' } }
  await stores.readModels.collection('transfers').bulkWrite([{ updateOne: { filter: { _id: first!._id }, update } }])
  return first!._id
}

t.test('a rebuild repairs the documents of a running service while transfers continue', async (t) => {
  const stores = await testStores(t)
  await stores.work(200)
  const running = startProjections(stores)
  await stores.caughtUp()
  const changedDocument = await changeDocument(stores)
  const counts: number[] = []
  let rebuilding = true
  const working = (async () => {
    while (rebuilding) {
      await stores.work(5)
      counts.push(await stores.readModels.collection('transfers').countDocuments({}))
      // Between two counts, because transfers without a pause would occupy the processor for as long as the rebuild takes.
      await sleep(50)
    }
  })()
  const progress = await progressOf(stores, 'transfers')
  t.strictSame([progress[0]?.state, progress.at(-1)?.state], ['requested', 'done'])
  for (const { reached = '0', end = '0' } of progress.flatMap((task) => task ?? []))
    t.ok(BigInt(reached) <= BigInt(end), 'never passes the end of the served documents')
  t.match(progress.at(-1)?.comparison, { differing: 1, differences: [changedDocument] }, 'names the changed document')
  t.match(await stores.readModels.collection('transfers').findOne({ _id: changedDocument }), { message: 'spoilt' })
  t.match(await outcomeOf(stores, 'transfers', { what: 'switch' }), { state: 'done' })
  t.match(await stores.readModels.collection('transfers').findOne({ _id: changedDocument }), { message: null })
  rebuilding = false
  await working
  t.strictSame(
    counts,
    [...counts].sort((a, b) => a - b),
    'readers never see fewer documents',
  )
  await stores.caughtUp()
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
  t.match((await projectionStatus(stores))[0], { name: 'transfers', state: 'current', task: { state: 'done' } })
  t.match(await outcomeOf(stores, 'transfers', { what: 'verify' }), { state: 'done', comparison: { differing: 0 } })
  await running.stop()
})

t.test('without a running service, the requesting process performs a rebuild', async (t) => {
  const stores = await testStores(t)
  await stores.work(20)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
  await stores.work(5)
  t.match(await outcomeOf(stores, 'transfers'), { state: 'done', comparison: { differing: 0 } })
  const { transfers } = await storedDocuments(stores.readModels)
  t.strictSame(transfers, expectedDocuments(await wholeLog(stores.store)).transfers)
  t.equal((await projectionStatus(stores))[0]?.holder, null, 'releases the lease')
})

t.test('a rebuild builds every projection without existing documents', async (t) => {
  const stores = await testStores(t)
  await stores.work(20)
  for (const { name } of allProjections) t.equal((await outcomeOf(stores, name))?.state, 'done', name)
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
})

t.test('a killed rebuild resumes from its checkpoint, and the old documents are served in the meantime', async (t) => {
  const stores = await testStores(t)
  await stores.work(40)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
  const served = await storedDocuments(stores.readModels)
  const half = (await wholeLog(stores.store))[25]!
  const unfinished = await interruptedRebuild(stores, totalsProjection, half.position)
  t.strictSame(await storedDocuments(stores.readModels), served)

  // This document of the unfinished build remains only if the next process resumes that build.
  await stores.readModels.collection(unfinished).put([{ _id: 'from the killed process' }])
  const again = startProjections(stores)
  await until(async () => (await new ProjectionTasks(stores.readModels, stores.clock).find('totals'))?.state === 'done')
  const { task, built } = (await projectionStatus(stores)).find(({ name }) => name === 'totals')!
  t.match(task, {
    what: 'rebuild',
    by: 'cli:ada',
    comparison: { differing: 1, differences: ['from the killed process'] },
  })
  t.match(
    built,
    { version: totalsProjection.version, comparison: { differing: 1 } },
    'the new build waits for a decision',
  )
  t.strictSame(await storedDocuments(stores.readModels), served)
  const builds = (await stores.readModels.listCollections()).filter((name) => name.startsWith('totals@'))
  t.equal(builds.length, 2, 'the served build and the waiting build')
  t.notOk(
    builds.includes(unfinished),
    'the resumed build has a new name, so that the killed process cannot write to it',
  )
  await again.stop()
})

t.test('a task that repeatedly kills its process is cancelled', async (t) => {
  const stores = await testStores(t)
  await stores.work(10)
  const half = (await wholeLog(stores.store))[5]!
  await interruptedRebuild(stores, totalsProjection, half.position, 7)
  const tasks = new ProjectionTasks(stores.readModels, stores.clock)
  const running = startProjections(stores, [totalsProjection])
  await until(async () => (await tasks.find('totals'))?.state === 'failed')
  t.match(await tasks.find('totals'), { reason: 'it was interrupted 8 times without progress' })
  await running.stop()
})

/**
 * Leaves the state of a process that was killed in the middle of a rebuild. Returns the name of the unfinished build.
 */
async function interruptedRebuild(
  stores: TestStores,
  projection: Projection,
  to: Position,
  interruptions = 0,
): Promise<string> {
  const { store, readModels, clock } = stores
  const { name, version, indexes } = projection
  const { task } = await new ProjectionTasks(readModels, clock).request(name, { what: 'rebuild', by: 'cli:ada' })
  const { projection: _, ...requested } = task
  const { leaseToken = 1 } = (await readPointer(readModels, name)) ?? {}
  const pointer = new ProjectionPointer(readModels, name, leaseToken, clock)
  await pointer.load()
  const served = { collection: buildName(projection.collection, version, 'empty'), version, progress: {}, at: clock() }
  const collection = buildName(projection.collection, version, 'killed')
  await readModels.createUnfilled(collection, indexes)
  const build = new Build({
    ...{ readModels, projection, collection, progress: {}, limit: () => to, signal: never },
    target: new BufferedDocuments(readModels.collection(collection), true),
    onProgress: async ({ durable: progress }) => {
      const record = {
        ...requested,
        state: 'running',
        interruptions,
        build: { collection, version, progress },
      } as const
      await pointer.save({ ...(!(await readPointer(readModels, name)) && { served }), task: record })
    },
  })
  await catchUp(store, build)
  await build.complete()
  return collection
}

t.test('a task whose process died after the switch is not performed again', async (t) => {
  const stores = await testStores(t)
  await stores.work(10)
  await outcomeOf(stores, 'transfers')
  await outcomeOf(stores, 'transfers')
  const { readModels, clock } = stores
  t.match(await outcomeOf(stores, 'transfers', { what: 'rollback' }), { state: 'done' })
  const { served, task, leaseToken } = (await readPointer(readModels, 'transfers'))!
  const pointer = new ProjectionPointer(readModels, 'transfers', leaseToken, clock)
  await pointer.load()
  await pointer.save({ task: { ...task!, state: 'running', isConcluded: true } })
  const running = startProjections(stores, [transfersProjection])
  await until(async () => (await new ProjectionTasks(readModels, clock).find('transfers'))?.state === 'done')
  await running.stop()
  t.equal((await readPointer(readModels, 'transfers'))?.served.collection, served.collection)
})

t.test('a rebuild ends before the event at which the served documents are stopped', async (t) => {
  const stores = await testStores(t)
  await stores.work(5)
  const running = startProjections(stores, [transfersProjection])
  await stores.caughtUp(['transfers'])
  const served = (await storedDocuments(stores.readModels)).transfers
  await stores.store.append('transfer-x', 'no_stream', [
    { id: 'aa0e8400-e29b-41d4-a716-446655440000', type: 'Unknown', data: {}, metadata: { schemaVersion: 1 } },
  ])
  t.match(await outcomeOf(stores, 'transfers'), { state: 'done' })
  t.strictSame((await storedDocuments(stores.readModels)).transfers, served)
  t.match((await readPointer(stores.readModels, 'transfers'))?.failure, { stream: 'transfer-x', revision: 0 })
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
  const pointer = () => readPointer(stores.readModels, 'transfers')
  await until(async () => (await pointer())?.failure !== undefined)
  t.match((await pointer())?.failure, { stream: `transfer-${id}`, revision: 0 }, 'names the event')
  t.equal((await stores.readModels.collection('transfers').find({})).length, 5, 'serves the old documents')
  const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }
  const target = { stream: `transfer-${id}`, revision: 0, reason: 'a test' }
  t.match(await skipEvent({ store, clock: stores.clock }, target, context), { accepted: true })
  await store.readStream(skippedEventsStream)
  await until(async () => (await pointer())?.served.version === next.version)
  await stores.work(5)
  await until(async () => (await stores.readModels.collection('transfers').find({})).length === 15)
  t.equal((await pointer())?.failure, undefined)
  await second.stop()
})

t.test('a start with a new version builds its documents, and a downgrade serves the earlier build again', async (t) => {
  const stores = await testStores(t)
  await stores.work(20)
  const first = startProjections(stores, [totalsProjection])
  await stores.caughtUp(['totals'])
  await first.stop()
  const earlier = (await readPointer(stores.readModels, 'totals'))!.served.collection
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
  const tasks = new ProjectionTasks(stores.readModels, stores.clock)
  const isSwitched = async (version: number) => {
    const pointer = await readPointer(stores.readModels, 'totals')
    return pointer?.served.version === version && (await tasks.find('totals'))?.state === 'done'
  }
  const second = startProjections(stores, [next])
  await until(() => isSwitched(next.version))
  await stores.work(10)
  await stores.caughtUp(['totals'])
  const documents = await stores.readModels.collection('totals').find({})
  t.strictSame([...new Set(documents.map(({ shape }) => shape))], [2])
  const perDay = documents.filter(({ _id }) => _id.startsWith(totalsPrefix(allMerchants, totalPeriods.day)))
  const counted = perDay.reduce((sum, { count }) => sum + (count as number), 0)
  const transferEvents = (await wholeLog(stores.store)).filter(({ stream }) => stream.startsWith('transfer-'))
  t.equal(counted, transferEvents.length, 'no event is missing, and none is counted twice')
  await second.stop()

  const downgraded = startProjections(stores, [totalsProjection])
  await until(() => isSwitched(totalsProjection.version))
  t.match(await tasks.find('totals'), { what: 'rollback', by: 'system:projections' })
  t.equal((await readPointer(stores.readModels, 'totals'))!.served.collection, earlier)
  const { totals } = await storedDocuments(stores.readModels)
  t.strictSame(totals, expectedDocuments(await wholeLog(stores.store)).totals, 'it contains all events')
  await downgraded.stop()
})

t.test('read models are rebuilt for a log that was copied to other positions, and no event counts twice', async (t) => {
  const before = await testStores(t)
  await before.work(20)
  const first = startProjections(before)
  await before.caughtUp()
  await first.stop()
  const log = await wholeLog(before.store)
  const { store } = await testStores(t)
  for (const { stream, revision, id, type, data, metadata } of log) {
    // An event of another stream before each event changes every position, and keeps all of them within the log.
    await store.append(`between-${id}`, 'no_stream', [{ id: randomUUID(), type: 'Between', data: {}, metadata: {} }])
    const expectedRevision = revision === 0 ? 'no_stream' : revision - 1
    const events = [{ id, type, data, metadata }]
    await store.appendInOrder([{ stream, expectedRevision, events, ...reservationIn(metadata) }])
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
      ['bank-payments', 'current'],
      ['bank-days', 'outdated'],
      ['bank-accounts', 'current'],
    ],
  )
  const second = startProjections(moved)
  await until(async () =>
    (await projectionStatus(moved)).every(
      ({ state, task }) => (state === 'current' || state === 'new') && task?.state !== 'running',
    ),
  )
  await second.stop()
  const copied = (await wholeLog(store)).filter(({ stream }) => stream.startsWith('transfer-'))
  t.strictSame(await storedDocuments(before.readModels), expectedDocuments(copied))
})

t.test('an unknown projection cannot be rebuilt', async (t) => {
  t.throws(() => projectionNamed('nothing'), UnknownProjectionError)
})
