import t from 'tap'
import { decorateStore } from '../../src/event-store/decorate-store.js'
import type { EventStore, Page } from '../../src/event-store/event-store.js'
import { allProjections } from '../../src/projections/all.js'
import { readCheckpoint } from '../../src/projections/checkpoints.js'
import { projectionStatus } from '../../src/projections/projection-status.js'
import { startProjections } from '../../src/projections/start.js'
import { type Asked, Tasks } from '../../src/projections/tasks/tasks.js'
import { watchTasks } from '../../src/projections/tasks/watch.js'
import { collections, type TaskDocument } from '../../src/read-models/documents.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { withSlowReadModels } from '../support/read-models.js'
import { aroundWrites, type TestStores, testStores, until } from './stores.js'

const never = new AbortController().signal
const names = allProjections.map(({ name }) => name)

const tasksOf = ({ readModels, clock }: TestStores) => new Tasks(readModels, clock)

async function outcomes(stores: TestStores, of: readonly string[], asked: Partial<Asked> = {}) {
  const tasks = tasksOf(stores)
  const all: TaskDocument[] = []
  for (const name of of) all.push((await tasks.ask(name, { what: 'rebuild', by: 'test', ...asked })).task)
  let last: ReadonlyMap<string, TaskDocument | null> = new Map()
  for await (const watched of watchTasks(stores, all, never)) last = watched
  return of.map((name) => last.get(name))
}

async function settled(stores: TestStores, count = 10): Promise<void> {
  await stores.work(count)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
}

/** The store, with what is read of the whole log noted. */
function noting(store: EventStore, pages: Page[]): EventStore {
  return decorateStore(store, {
    async readAll(options) {
      const page = await store.readAll(options)
      pages.push(page)
      return page
    },
  })
}

t.test('all projections are rebuilt in one pass over the log', { skip: withSlowReadModels }, async (t) => {
  const stores = await testStores(t)
  await stores.work(600)
  const log = await wholeLog(stores.store)
  const pages: Page[] = []
  const all = await outcomes({ ...stores, store: noting(stores.store, pages) }, names)
  t.same(
    all.map((task) => task?.state),
    names.map(() => 'done'),
  )
  const read = pages.reduce((sum, { events }) => sum + events.length, 0)
  // One after the other would read four times as many; a machine under load may begin them in two groups.
  t.ok(read <= 2 * log.length, `${read} events were read of ${log.length}`)
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(log))
})

t.test('a rebuild that is cancelled leaves no trace', async (t) => {
  const stores = await testStores(t)
  await settled(stores)
  const documents = async () =>
    (await stores.readModels.listCollections()).filter((name) => name !== collections.projectionTasks)
  const before = await documents()
  const tasks = tasksOf(stores)
  let cancelled = false
  const readModels = aroundWrites(stores.readModels, async (collection, write) => {
    if (collection.includes('__rebuild_')) cancelled = await tasks.cancel('transfers')
    return write()
  })
  const { task } = await tasks.ask('transfers', { what: 'rebuild', by: 'test' })
  const served = await storedDocuments(stores.readModels)
  for await (const _ of watchTasks({ ...stores, readModels }, [task], never));
  t.equal(cancelled, true)
  t.equal(await tasks.find('transfers'), null, 'no request is left')
  t.same(await documents(), before, 'and no collection')
  t.strictSame(await storedDocuments(stores.readModels), served)
  t.equal(await tasks.cancel('transfers'), false, 'there is nothing to cancel')
})

t.test('a rebuild that was cancelled while nobody worked on it is cleared up by who comes next', async (t) => {
  const stores = await testStores(t)
  await settled(stores)
  const tasks = tasksOf(stores)
  await tasks.ask('totals', { what: 'rebuild', by: 'test' })
  t.equal(await tasks.cancel('totals'), true)
  const running = startProjections(stores)
  await until(async () => (await tasks.find('totals')) === null)
  await running.stop()
})

t.test('the same task is joined, and another is refused until it has ended', async (t) => {
  const tasks = tasksOf(await testStores(t))
  const first = await tasks.ask('totals', { what: 'rebuild', by: 'cli:ada' })
  t.equal(first.joined, false)
  const second = await tasks.ask('totals', { what: 'rebuild', by: 'cli:bob' })
  t.match(second, { joined: true, task: { requestId: first.task.requestId, by: 'cli:ada' } })
  await t.rejects(tasks.ask('totals', { what: 'rollback', by: 'cli:bob' }), { name: 'ProjectionBusyError' })
})

t.test('a projection that is paused stands still over restarts, the others go on, and it is resumed', async (t) => {
  const stores = await testStores(t)
  await settled(stores)
  const tasks = tasksOf(stores)
  t.equal(await tasks.pause('transfers', 'cli:ada', 'a reason'), true)
  t.equal(await tasks.pause('transfers', 'cli:bob', null), false, 'it is already')
  const before = (await readCheckpoint(stores.readModels, 'transfers'))?.position
  for (let restart = 0; restart < 2; restart++) {
    const running = startProjections(stores)
    await stores.work(5)
    await stores.caughtUp(names.filter((name) => name !== 'transfers'))
    t.equal((await readCheckpoint(stores.readModels, 'transfers'))?.position, before)
    await running.stop()
  }
  const [status] = await projectionStatus(stores)
  t.match(status, { state: 'paused', paused: { by: 'cli:ada', reason: 'a reason' } })
  t.ok(status!.lagEvents > 0)
  const [verified] = await outcomes(stores, ['transfers'], { what: 'verify' })
  t.match(verified, { state: 'done', comparison: { differing: 0, compared: 10, position: before } }, 'as it stands')
  t.equal(await tasks.resume('transfers'), true)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
})

t.test('what was built waits for a switch, and what was in use can be used again, and then once more', async (t) => {
  const stores = await testStores(t)
  await settled(stores)
  const transfers = stores.readModels.collection('transfers')
  const [first] = await transfers.find({}, { limit: 1 })
  await transfers.put([{ ...first!, message: 'spoilt' }])
  const message = async () => (await transfers.findOne({ _id: first!._id }))?.message
  const kept = await outcomes(stores, ['transfers'], { keep: true })
  t.match(kept, [{ state: 'done', comparison: { differing: 1, differences: [first!._id] } }])
  t.equal(await message(), 'spoilt')
  await stores.work(3)
  t.match(await outcomes(stores, ['transfers'], { what: 'verify' }), [{ comparison: { differing: 1 } }], 'still')
  t.match(await outcomes(stores, ['transfers'], { what: 'switch' }), [{ state: 'done' }])
  t.equal(await message(), null)
  await stores.work(3)
  for (const wanted of ['spoilt', null]) {
    t.match(await outcomes(stores, ['transfers'], { what: 'rollback' }), [{ state: 'done' }])
    t.equal(await message(), wanted)
    const running = startProjections(stores)
    await stores.caughtUp()
    await running.stop()
    t.equal(await transfers.countDocuments({}), 16, 'it has caught up')
  }
  t.match(await outcomes(stores, ['transfers'], { what: 'switch' }), [{ state: 'failed', reason: /nothing is built/ }])
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
})

t.test('documents that are missing, and documents that nothing in the log has made, are differences', async (t) => {
  const stores = await testStores(t)
  await settled(stores)
  const terms = stores.readModels.collection('transfer_terms')
  const [missing] = await terms.find({}, { limit: 1 })
  await terms.bulkWrite([{ deleteOne: { filter: { _id: missing!._id } } }])
  await terms.put([{ _id: 'made up' }])
  const [verified] = await outcomes(stores, ['transfer-terms'], { what: 'verify' })
  t.equal(verified?.comparison?.differing, 2)
  t.same(verified?.comparison?.differences.toSorted(), [missing!._id, 'made up'].sort())
  t.notOk((await stores.readModels.listCollections()).some((name) => /__(rebuild|built)/.test(name)))
})
