import t from 'tap'
import { StoreUnavailableError } from '../../src/event-store/event-store.js'
import { startProjections } from '../../src/projections/start-projections.js'
import { type LiveUpdate, LiveView, type LiveWatcher } from '../../src/queries/live-changes.js'
import { createDeposit, type TestStores, testStores } from '../projections/stores.js'
import { until } from '../support/until.js'

/** A viewer that keeps the received messages. It reads while `ready` is true. */
function watcher(merchantIds: readonly string[] | null) {
  const messages: LiveUpdate[] = []
  const state = { ready: true, ended: false }
  const self: LiveWatcher = {
    merchantIds,
    isReady: () => state.ready,
    send: (update) => messages.push(update),
    end: () => {
      state.ended = true
    },
  }
  const count = (status: string) =>
    messages.flatMap(({ changes }) => changes).reduce((sum, each) => sum + (each.status === status ? each.count : 0), 0)
  const transfers = () => messages.flatMap((message) => message.transfers)
  return { self, messages, state, count, transfers }
}

function liveView(stores: TestStores) {
  const errors: unknown[] = []
  return { errors, view: new LiveView({ ...stores, onError: (error) => errors.push(error) }) }
}

const merchantId = '0f0e3cf9-2f6c-4c8e-9d3b-1f6f7a2a9b10'
const context = { actor: 'test', $correlationId: 'c', $causationId: 'c' }

t.test('at 500 transfers per second, figures add up and every viewer receives few, small messages', async (t) => {
  const stores = await testStores(t)
  const projections = startProjections(stores)
  const { view, errors } = liveView(stores)
  const [operator, own, otherMerchant, slow] = [
    watcher(null),
    watcher([merchantId]),
    watcher(['another merchant']),
    watcher(null),
  ]
  for (const each of [operator, own, otherMerchant, slow]) await view.watch(each.self)
  slow.state.ready = false
  const startedMs = performance.now()
  for (let round = 0; round < 6; round++) await stores.work(500)
  const created = 3_000
  await until(() => operator.count('Pending') === created && operator.count('Completed') === created / 2)
  await until(() => own.count('Pending') === created && own.count('Completed') === created / 2)
  const seconds = (performance.now() - startedMs) / 1_000
  t.comment(`${Math.round((created * 1.5) / seconds)} events a second`)
  const amountMinor = own.messages.flatMap(({ changes }) => changes).reduce((sum, each) => sum + each.amountMinor, 0n)
  t.equal(amountMinor, BigInt(created * 1.5 * 10_000))
  t.ok(own.messages.length <= 2 * seconds + 1, `${own.messages.length} messages`)
  t.ok(own.messages.every((message) => message.transfers.length <= 50 && message.changes.length <= 20))
  t.same(otherMerchant.messages, [], 'other viewers receive nothing')

  t.same(slow.messages, [], 'a viewer that does not read receives nothing')
  slow.state.ready = true
  await until(() => slow.messages.length > 0)
  t.equal(slow.count('Pending'), created)
  t.equal(slow.count('Completed'), created / 2)
  t.ok(slow.messages[0]!.transfers.length <= 50)
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
  await stores.transfers.act(trackingId, { type: 'Complete' }, context)
  await until(() => one.count('Completed') === 1)
  t.same(one.transfers(), [], 'the read model does not contain the transfer yet')
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
  await until(() => first.messages.length > 0)
  await until(() => subscriptions === 1)
  leaves[0]!()
  t.equal(view.size, 1)
  const messages = second.messages.length
  await createDeposit(stores.transfers, 30)
  await until(() => second.messages.length > messages)
  t.equal(subscriptions, 1)
  leaves[1]!()
  await until(() => subscriptions === 0)
  const third = watcher(null)
  await view.watch(third.self)
  await createDeposit(stores.transfers, 30)
  await until(() => third.messages.length > 0)
  view.close()
  t.ok(third.state.ended)
  await until(() => subscriptions === 0)
})

t.test('rejects new viewers during an outage of the log, and leaves none connected', async (t) => {
  const stores = await testStores(t)
  const store: typeof stores.store = {
    ...stores.store,
    subscribeToAll: () => {
      throw new StoreUnavailableError('a node is unavailable')
    },
  }
  const view = new LiveView({ store, readModels: stores.readModels, onError: (error) => t.fail(String(error)) })
  await t.rejects(view.watch(watcher(null).self), { name: 'StoreUnavailableError' })
  t.equal(view.size, 0)
})
