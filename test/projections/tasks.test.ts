import t from 'tap'
import type { EventStore, Page } from '../../src/event-store/event-store.js'
import { allProjections } from '../../src/projections/all-projections.js'
import { readPointer } from '../../src/projections/projection-pointer.js'
import { projectionStatus } from '../../src/projections/projection-status.js'
import { type ProjectionTask, ProjectionTasks, type TaskRequest } from '../../src/projections/projection-tasks.js'
import { startProjections, watchTasks } from '../../src/projections/start-projections.js'
import { collections } from '../../src/read-models/documents.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { until } from '../support/until.js'
import { aroundWrites, type TestStores, testStores } from './stores.js'

const never = new AbortController().signal
const names = allProjections.map(({ name }) => name)

const tasksOf = ({ readModels, clock }: TestStores) => new ProjectionTasks(readModels, clock)

const conflict = (rule: string) => Object.assign(new Error(rule), { name: 'ProjectionConflictError' })

async function outcomes(stores: TestStores, of: readonly string[], request: Partial<TaskRequest> = {}) {
  const tasks = tasksOf(stores)
  const all: ProjectionTask[] = []
  for (const name of of) all.push((await tasks.request(name, { what: 'rebuild', by: 'test', ...request })).task)
  let last: ReadonlyMap<string, ProjectionTask | null> = new Map()
  for await (const watched of watchTasks(stores, all, never)) last = watched
  return of.map((name) => last.get(name))
}

async function projected(stores: TestStores, count = 10): Promise<void> {
  await stores.work(count)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
}

const positionOf = async (stores: TestStores) =>
  (await readPointer(stores.readModels, 'transfers'))?.served.progress.position

/** Collects the pages that are read of the whole log. */
function recording(store: EventStore, pages: Page[]): EventStore {
  return {
    ...store,
    async readAll(options) {
      const page = await store.readAll(options)
      pages.push(page)
      return page
    },
  }
}

t.test('all projections are rebuilt in one pass over the log', async (t) => {
  const stores = await testStores(t)
  await stores.work(600)
  const log = await wholeLog(stores.store)
  const pages: Page[] = []
  const all = await outcomes({ ...stores, store: recording(stores.store, pages) }, names)
  t.same(
    all.map((task) => task?.state),
    names.map(() => 'done'),
  )
  const read = pages.reduce((sum, { events }) => sum + events.length, 0)
  // Separate passes would read four times as many events. Under load, a build that starts late can make others repeat a
  // page.
  t.ok(read <= 2 * log.length, `${read} events were read of ${log.length}`)
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(log))
})

t.test('a cancelled rebuild leaves no trace', async (t) => {
  const stores = await testStores(t)
  await projected(stores)
  const served = (await readPointer(stores.readModels, 'transfers'))!.served.collection
  const listed = async () =>
    (await stores.readModels.listCollections()).filter((name) => name !== collections.projectionRequests)
  const before = await listed()
  const tasks = tasksOf(stores)
  let cancelled = false
  const readModels = aroundWrites(stores.readModels, async (collection, write) => {
    if (collection.startsWith('transfers@') && collection !== served) cancelled = await tasks.cancel('transfers')
    return write()
  })
  const { task } = await tasks.request('transfers', { what: 'rebuild', by: 'test' })
  const documents = await storedDocuments(stores.readModels)
  for await (const _ of watchTasks({ ...stores, readModels }, [task], never));
  t.equal(cancelled, true)
  t.equal(await tasks.find('transfers'), null, 'the task is removed')
  t.same(await listed(), before, 'the build is dropped')
  t.strictSame(await storedDocuments(stores.readModels), documents)
  t.equal(await tasks.cancel('transfers'), false, 'there is no task to cancel')
})

t.test('the next holder cleans up a rebuild that was cancelled while no process worked on it', async (t) => {
  const stores = await testStores(t)
  await projected(stores)
  const tasks = tasksOf(stores)
  await tasks.request('totals', { what: 'rebuild', by: 'test' })
  t.equal(await tasks.cancel('totals'), true)
  const running = startProjections(stores)
  await until(async () => (await tasks.find('totals')) === null)
  await running.stop()
})

t.test('a request joins an unfinished task of the same kind and is rejected during another one', async (t) => {
  const tasks = tasksOf(await testStores(t))
  const first = await tasks.request('totals', { what: 'rebuild', by: 'cli:ada' })
  t.equal(first.joined, false)
  const second = await tasks.request('totals', { what: 'rebuild', by: 'cli:bob' })
  t.match(second, { joined: true, task: { requestId: first.task.requestId, by: 'cli:ada' } })
  await t.rejects(tasks.request('totals', { what: 'verify', by: 'cli:bob' }), conflict('projection-busy'))
})

t.test('a paused projection stays paused over restarts while the others continue', async (t) => {
  const stores = await testStores(t)
  await projected(stores)
  const tasks = tasksOf(stores)
  t.equal(await tasks.pause('transfers', 'cli:ada', 'a reason'), true)
  t.equal(await tasks.pause('transfers', 'cli:bob', null), false, 'already paused')
  const before = await positionOf(stores)
  for (let restart = 0; restart < 2; restart++) {
    const running = startProjections(stores)
    await stores.work(5)
    await stores.caughtUp(names.filter((name) => name !== 'transfers'))
    t.equal(await positionOf(stores), before)
    await running.stop()
  }
  const [status] = await projectionStatus(stores)
  t.match(status, { state: 'paused', paused: { by: 'cli:ada', reason: 'a reason' } })
  t.ok(status!.lagEvents > 0)
  const [verified] = await outcomes(stores, ['transfers'], { what: 'verify' })
  t.match(verified, { state: 'done', comparison: { differing: 0, compared: 10, position: before } })
  t.equal(await tasks.resume('transfers'), true)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
})

t.test('a kept build waits for a switch, and a rollback serves the previous build with all events', async (t) => {
  const stores = await testStores(t)
  await projected(stores)
  const transfers = stores.readModels.collection('transfers')
  const [first] = await transfers.find({}, { limit: 1 })
  await transfers.put([{ ...first!, message: 'spoilt' }])
  const message = async () => (await transfers.findOne({ _id: first!._id }))?.message ?? null
  const built = await outcomes(stores, ['transfers'], { keep: true })
  t.match(built, [{ state: 'done', comparison: { differing: 1, differences: [first!._id] } }])
  t.equal(await message(), 'spoilt')
  await projected(stores, 3)
  t.match(
    await outcomes(stores, ['transfers'], { what: 'verify' }),
    [{ comparison: { differing: 1 } }],
    'it still differs',
  )
  t.match(await outcomes(stores, ['transfers'], { what: 'switch' }), [{ state: 'done' }])
  t.equal(await message(), null)
  for (const [n, expected] of ['spoilt', null].entries()) {
    await projected(stores, 3)
    t.match(await outcomes(stores, ['transfers'], { what: 'rollback' }), [{ state: 'done' }])
    t.equal(await message(), expected)
    t.equal(await transfers.countDocuments({}), 16 + 3 * n, 'all events are applied before the switch')
  }
  const tasks = tasksOf(stores)
  await t.rejects(tasks.request('transfers', { what: 'switch', by: 'test' }), conflict('nothing-built'))
  // This is the state after a build that was served after the request.
  const raced = { _id: 'transfers', what: 'switch', by: 'test', requestId: 'raced', requestedAt: stores.clock() }
  await stores.readModels.collection(collections.projectionRequests).put([raced])
  const ended: (ProjectionTask | null | undefined)[] = []
  const task = (await tasks.find('transfers'))!
  for await (const watched of watchTasks(stores, [task], never)) ended.push(watched.get('transfers'))
  t.match(ended.at(-1), { state: 'failed', reason: 'no build waits for a switch' })
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
  const builds = (await stores.readModels.listCollections()).filter((name) => name.startsWith('transfers@'))
  t.equal(builds.length, 2, 'the served and the previous build')
})

t.test('an erasure drops the builds that do not follow the log (simulated seed 683)', async (t) => {
  const stores = await testStores(t)
  await projected(stores)
  t.match(await outcomes(stores, ['transfers', 'totals']), [{ state: 'done' }, { state: 'done' }])
  t.match(await outcomes(stores, ['transfers'], { keep: true }), [{ state: 'done' }])
  const builds = async () => (await stores.readModels.listCollections()).filter((name) => name.startsWith('transfers@'))
  t.equal((await builds()).length, 3, 'served, built and previous')
  const [first] = await stores.readModels.collection('transfers').find({ status: 'Completed' }, { limit: 1 })
  await stores.transfers.erasePersonalData(first!._id, { actor: 'test', $correlationId: 'c', $causationId: 'c' })
  await projected(stores, 0)
  const { served, built, previous } = (await readPointer(stores.readModels, 'transfers'))!
  t.strictSame([await builds(), built, previous], [[served.collection], undefined, undefined])
  await t.rejects(tasksOf(stores).request('transfers', { what: 'rollback', by: 'test' }), conflict('nothing-kept'))
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
})

t.test('missing documents and documents that the log does not explain are differences', async (t) => {
  const stores = await testStores(t)
  await projected(stores)
  const totals = stores.readModels.collection('totals')
  const [missing] = await totals.find({}, { limit: 1 })
  await totals.bulkWrite([{ deleteOne: { filter: { _id: missing!._id } } }])
  await totals.put([{ _id: 'sample' }])
  const [verified] = await outcomes(stores, ['totals'], { what: 'verify' })
  t.equal(verified?.comparison?.differing, 2)
  t.same(verified?.comparison?.differences.toSorted(), [missing!._id, 'sample'].sort())
  const builds = (await stores.readModels.listCollections()).filter((name) => name.startsWith('totals@'))
  t.equal(builds.length, 1, 'the verified build is dropped')
})
