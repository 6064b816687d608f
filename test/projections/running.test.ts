import { randomUUID } from 'node:crypto'
import t from 'tap'
import { StoreUnavailableError } from '../../src/event-store/event-store.js'
import type { EventProjection } from '../../src/projections/projection.js'
import { readPointer } from '../../src/projections/projection-pointer.js'
import { ProjectionRunner } from '../../src/projections/projection-runner.js'
import { projectionLags, projectionStatus } from '../../src/projections/projection-status.js'
import { projectionDetails } from '../../src/projections/projection-tasks.js'
import { startProjections } from '../../src/projections/start-projections.js'
import { transfersProjection } from '../../src/projections/transfers-projection.js'
import { collections } from '../../src/read-models/documents.js'
import { ReadModelsUnavailableError } from '../../src/read-models/read-models.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { until } from '../support/until.js'
import { aroundWrites, testStores } from './stores.js'

t.test('read models follow the log and equal its fold, also after a restart', async (t) => {
  const stores = await testStores(t)
  await stores.work(30)
  const first = startProjections(stores)
  await stores.work(30)
  await stores.caughtUp()
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
  await first.stop()

  await stores.work(30)
  const second = startProjections(stores)
  await stores.caughtUp()
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
  const status = await projectionStatus(stores)
  t.strictSame([...new Set(status.map(({ state }) => state))], ['current'])
  t.match(status.find(({ name }) => name === 'transfers')?.holder, `/${process.pid}/`)
  await second.stop()
})

t.test('reports the lag of a projection: the first waiting event and the number up to a limit', async (t) => {
  const stores = await testStores(t)
  await stores.work(3)
  const running = startProjections(stores)
  await stores.caughtUp()
  await running.stop()
  const end = (await wholeLog(stores.store)).length
  const statusOfTransfers = async () => (await projectionStatus(stores)).find(({ name }) => name === 'transfers')!
  t.match(await statusOfTransfers(), { state: 'current', lagEvents: 0, waitingSince: null })
  await stores.work(2)
  const first = (await wholeLog(stores.store))[end]!
  const waitingSince = new Date(first.recordedAtMs).toISOString()
  t.match(await statusOfTransfers(), { state: 'behind', lagEvents: 3, waitingSince })
  const lags = await projectionLags(stores, () => new Date(first.recordedAtMs + 5_000).toISOString())
  t.match(
    lags.find(({ name }) => name === 'transfers'),
    { behind: true, lagMs: 5_000 },
  )
  let read = 0
  const readAll: typeof stores.store.readAll = async (options) => {
    const page = await stores.store.readAll(options)
    read += page.events.length
    return page
  }
  await stores.work(700)
  const [status] = await projectionStatus({ ...stores, store: { ...stores.store, readAll } }, [transfersProjection])
  t.match(status, { state: 'behind', lagEvents: 1_000, waitingSince })
  t.ok(read <= 1_010, `${read} events were read to determine the lag`)
})

t.test('saves no checkpoint ahead of the documents', async (t) => {
  const stores = await testStores(t)
  let checked = 0
  const readModels = aroundWrites(stores.readModels, async (collection, write) => {
    const result = await write()
    if (collection !== collections.pointers) return result
    const position = (await readPointer(stores.readModels, 'transfers'))?.served.progress.position ?? '0'
    const covered = (await wholeLog(stores.store)).filter((event) => Number(event.position.commit) <= Number(position))
    const { transfers } = await storedDocuments(stores.readModels)
    t.strictSame(transfers, expectedDocuments(covered).transfers)
    checked++
    return result
  })
  const running = startProjections({ ...stores, readModels }, [transfersProjection])
  for (let n = 0; n < 5; n++) {
    await stores.work(10)
    await stores.caughtUp(['transfers'])
  }
  await running.stop()
  t.ok(checked >= 5, `${checked} checkpoints were checked`)
})

t.test('an undecodable event stops its projection with an error and is not skipped', async (t) => {
  const stores = await testStores(t)
  await stores.work(3)
  const id = randomUUID()
  const event = { id, type: 'SomethingNewer', data: {}, metadata: { schemaVersion: 1 } }
  const { position } = await stores.store.append(`transfer-${id}`, 'no_stream', [event])
  const before = await wholeLog(stores.store)
  await stores.work(3)
  const running = startProjections(stores, [transfersProjection])
  await until(async () => (await readPointer(stores.readModels, 'transfers'))?.failure !== undefined)
  const status = (await projectionStatus(stores)).find(({ name }) => name === 'transfers')
  t.match(status, {
    state: 'failed',
    failure: { position: `${position.commit}`, reason: `transfer-${id}@0: unknown event SomethingNewer version 1` },
  })
  t.ok(status!.lagEvents > 0)
  const { transfers } = await storedDocuments(stores.readModels)
  t.strictSame(
    transfers,
    expectedDocuments(before.slice(0, -1)).transfers,
    'contains all events before the undecodable one and none after it',
  )
  t.match(stores.logLines.join(), 'the projection stopped')
  t.same(await projectionDetails(stores.readModels, []), [], 'listed with the unreadable events')
  await running.stop()
})

t.test('a projection that stops for another reason is listed by its name', async (t) => {
  const stores = await testStores(t)
  await stores.work(3)
  const broken: EventProjection = {
    ...(transfersProjection as EventProjection),
    apply: () => {
      throw new Error('out of order')
    },
  }
  const running = startProjections(stores, [broken])
  await until(async () => (await projectionDetails(stores.readModels, [])).length > 0)
  t.match(await projectionDetails(stores.readModels, []), [/^the projection transfers is stopped: out of order/])
  await running.stop()
})

t.test('loses nothing during an outage of the read models or the log, and resumes automatically', async (t) => {
  const stores = await testStores(t)
  await stores.work(20)
  let failuresLeft = 6
  const fail = () => failuresLeft > 0 && failuresLeft-- % 2 === 0
  const readModels = aroundWrites(stores.readModels, async (collection, write) => {
    if (collection !== 'leases' && fail()) throw new ReadModelsUnavailableError('the disk is full')
    return write()
  })
  const store: typeof stores.store = {
    ...stores.store,
    subscribeToAll: (options) => {
      if (fail()) throw new StoreUnavailableError('a node is unavailable')
      return stores.store.subscribeToAll(options)
    },
  }
  const running = startProjections({ ...stores, store, readModels }, [transfersProjection])
  await stores.caughtUp(['transfers'])
  await running.stop()
  t.equal(failuresLeft, 0)
  const { transfers } = await storedDocuments(stores.readModels)
  t.strictSame(transfers, expectedDocuments(await wholeLog(stores.store)).transfers)
  t.match(stores.logLines.join(), 'a store is unavailable')
})

t.test('a former lease holder stops at its next checkpoint and reverts nothing', async (t) => {
  const stores = await testStores(t)
  await stores.work(5)
  const late = new ProjectionRunner(stores, transfersProjection, {
    token: 1,
    signal: new AbortController().signal,
  }).run()
  await stores.caughtUp(['transfers'])
  const stopping = new AbortController()
  const current = new ProjectionRunner(stores, transfersProjection, { token: 2, signal: stopping.signal }).run()
  await stores.work(5)
  await stores.caughtUp(['transfers'])
  await until(async () => (await readPointer(stores.readModels, 'transfers'))?.leaseToken === 2)
  await stores.work(5)
  await late
  await stores.caughtUp(['transfers'])
  t.equal((await readPointer(stores.readModels, 'transfers'))?.leaseToken, 2)
  stopping.abort()
  await current
})

t.test('rebuilds documents that are ahead of the log', async (t) => {
  const newer = await testStores(t)
  await newer.work(20)
  const first = startProjections(newer)
  await newer.caughtUp()
  await first.stop()
  const restored = await testStores(t)
  await restored.work(4)
  const deps = { ...newer, store: restored.store }
  const status = await projectionStatus(deps)
  t.equal(status.find(({ name }) => name === 'transfers')?.state, 'outdated')
  const second = startProjections(deps)
  const expected = expectedDocuments(await wholeLog(restored.store))
  await until(async () => {
    const tasks = (await projectionStatus(deps)).flatMap(({ task }) => task ?? [])
    return tasks.length >= 3 && tasks.every(({ state }) => state === 'done')
  })
  t.strictSame(await storedDocuments(newer.readModels), expected)
  await second.stop()
})

t.test('rebuilds a dropped collection at the start', async (t) => {
  const stores = await testStores(t)
  await stores.work(10)
  const first = startProjections(stores, [transfersProjection])
  await stores.caughtUp(['transfers'])
  await first.stop()
  const { served } = (await readPointer(stores.readModels, 'transfers'))!
  await stores.readModels.drop(served.collection)
  const second = startProjections(stores, [transfersProjection])
  await until(async () => (await stores.readModels.collection('transfers').countDocuments({})) === 10)
  const { transfers } = await storedDocuments(stores.readModels)
  t.strictSame(transfers, expectedDocuments(await wholeLog(stores.store)).transfers)
  await second.stop()
})
