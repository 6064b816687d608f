import t from 'tap'
import { StoreUnavailableError } from '../../src/event-store/event-store.js'
import { startProjections } from '../../src/projections/start-projections.js'
import { type LiveUpdate, LiveView, type LiveWatcher } from '../../src/queries/live-changes.js'
import { createDeposit, type TestStores, testStores, until } from '../projections/stores.js'

/** A viewer with the received messages. It reads while `ready` is true. */
function watcher(merchantIds: readonly string[] | null) {
  const told: LiveUpdate[] = []
  const state = { ready: true, ended: false }
  const self: LiveWatcher = {
    merchantIds,
    isReady: () => state.ready,
    send: (update) => told.push(update),
    end: () => {
      state.ended = true
    },
  }
  const count = (status: string) =>
    told.flatMap(({ changes }) => changes).reduce((sum, each) => sum + (each.status === status ? each.count : 0), 0)
  const transfers = () => told.flatMap((news) => news.transfers)
  return { self, told, state, count, transfers }
}

function liveView(stores: TestStores) {
  const errors: unknown[] = []
  return { errors, view: new LiveView({ ...stores, onError: (error) => errors.push(error) }) }
}

const merchantId = '0f0e3cf9-2f6c-4c8e-9d3b-1f6f7a2a9b10'
const context = { actor: 'test', $correlationId: 'c', $causationId: 'c' }

t.test('with 500 transfers a second, figures add up and messages stay small and few for every reader', async (t) => {
  const stores = await testStores(t)
  const projections = startProjections(stores)
  const { view, errors } = liveView(stores)
  const [house, own, stranger, slow] = [watcher(null), watcher([merchantId]), watcher(['somebody else']), watcher(null)]
  for (const each of [house, own, stranger, slow]) await view.watch(each.self)
  slow.state.ready = false
  const beganMs = performance.now()
  for (let round = 0; round < 6; round++) await stores.work(500)
  const created = 3_000
  await until(() => house.count('Pending') === created && house.count('Completed') === created / 2)
  await until(() => own.count('Pending') === created && own.count('Completed') === created / 2)
  const seconds = (performance.now() - beganMs) / 1_000
  t.comment(`${Math.round((created * 1.5) / seconds)} events a second`)
  const amountMinor = own.told.flatMap(({ changes }) => changes).reduce((sum, each) => sum + each.amountMinor, 0)
  t.equal(amountMinor, created * 1.5 * 10_000)
  t.ok(own.told.length <= 2 * seconds + 1, `${own.told.length} messages`)
  t.ok(own.told.every((news) => news.transfers.length <= 50 && news.changes.length <= 20))
  t.same(stranger.told, [], 'other viewers receive nothing')

  t.same(slow.told, [], 'who does not read is not written to')
  slow.state.ready = true
  await until(() => slow.told.length > 0)
  t.equal(slow.count('Pending'), created)
  t.equal(slow.count('Completed'), created / 2)
  t.ok(slow.told[0]!.transfers.length <= 50)
  t.same(errors, [])
  view.close()
  await projections.stop()
})

t.test('sends the state of a transfer after the change, even if the read model lags', async (t) => {
  const stores = await testStores(t)
  const { view } = liveView(stores)
  const one = watcher(null)
  await view.watch(one.self)
  const trackingId = await createDeposit(stores.transfers, 30)
  await stores.transfers.complete(trackingId, {}, context)
  await until(() => one.count('Completed') === 1)
  t.same(one.transfers(), [], 'nothing is projected yet')
  const projections = startProjections(stores)
  await until(() => one.transfers().some(({ _id }) => _id === trackingId))
  const shown = one.transfers().filter(({ _id }) => _id === trackingId)
  t.same(
    shown.map(({ status, revision }) => [status, revision]),
    [['Completed', 1]],
  )
  view.close()
  await projections.stop()
})

t.test('follows the log only while there are viewers', async (t) => {
  const stores = await testStores(t)
  let subscriptions = 0
  const store: typeof stores.store = {
    ...stores.store,
    async *subscribeToAll(options) {
      if (options.after === 'end') return yield* stores.store.subscribeToAll(options)
      subscriptions++
      try {
        yield* stores.store.subscribeToAll(options)
      } finally {
        subscriptions--
      }
    },
  }
  const view = new LiveView({ store, readModels: stores.readModels, onError: (error) => t.fail(String(error)) })
  t.equal(subscriptions, 0)
  const [first, second] = [watcher(null), watcher(null)]
  const leaves = await Promise.all([first, second].map(({ self }) => view.watch(self)))
  await createDeposit(stores.transfers, 30)
  await until(() => first.told.length > 0)
  await until(() => subscriptions === 1)
  leaves[0]!()
  t.equal(view.size, 1)
  const told = second.told.length
  await createDeposit(stores.transfers, 30)
  await until(() => second.told.length > told)
  t.equal(subscriptions, 1)
  leaves[1]!()
  await until(() => subscriptions === 0)
  const third = watcher(null)
  await view.watch(third.self)
  await createDeposit(stores.transfers, 30)
  await until(() => third.told.length > 0)
  view.close()
  t.ok(third.state.ended)
  await until(() => subscriptions === 0)
})

t.test('refuses new viewers during an outage of the log, and leaves none connected', async (t) => {
  const stores = await testStores(t)
  const store: typeof stores.store = {
    ...stores.store,
    subscribeToAll: () => {
      throw new StoreUnavailableError('a node away')
    },
  }
  const view = new LiveView({ store, readModels: stores.readModels, onError: (error) => t.fail(String(error)) })
  await t.rejects(view.watch(watcher(null).self), { name: 'StoreUnavailableError' })
  t.equal(view.size, 0)
})
