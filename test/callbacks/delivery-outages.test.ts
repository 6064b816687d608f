import t from 'tap'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import type { Collection } from '../../src/read-models/read-models.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { openWorld, quickTiming, stopAfterFailure } from './world.js'

t.test('does not resend a callback while the log accepts no report, and reports the delivery afterwards', async (t) => {
  let isUnavailable = false
  let rejectedAppends = 0
  const world = await openWorld(t, {
    wrapStore: (store): EventStore => ({
      ...store,
      appendInOrder: async (appends) => {
        if (!isUnavailable) return store.appendInOrder(appends)
        rejectedAppends++
        throw new StoreUnavailableError('the disk is full')
      },
    }),
  })
  const receiver = await startReceiver(t, (_received, response) => {
    isUnavailable = true
    response.writeHead(200).end()
  })
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.completed(id)
  await until(() => rejectedAppends > 0)
  world.clock.forward(60_000)
  await world.dueChecks()
  await until(() => rejectedAppends > 3)
  t.equal(receiver.received.length, 1)
  t.equal((await world.deliveryLog(trackingId)).length, 1)
  isUnavailable = false
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  t.equal(receiver.received.length, 1)
})

t.test('delivers in one of two processes, and continues in the other when the first stops', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const first = world.start()
  await world.completed(id)
  await until(() => receiver.received.length === 1)
  world.start()
  await Promise.all(Array.from({ length: 20 }, () => world.completed(id)))
  await until(() => receiver.received.length === 21)
  await first.stop()
  await Promise.all(Array.from({ length: 20 }, () => world.completed(id)))
  await until(() => receiver.received.length === 41)
  t.equal(new Set(receiver.received.map(({ webhookId }) => webhookId)).size, 41)
})

t.test('finds the waiting callbacks in the read model after a restart', async (t) => {
  const world = await openWorld(t)
  const { receiver, trackingId } = await stopAfterFailure(t, world)
  world.clock.forward(10_000)
  world.start()
  await until(async () => (await world.deliveryLog(trackingId)).length === 3)
  t.equal(receiver.received.length, 2)
})

t.test('logs neither secrets nor the responses of endpoints', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, _response, request) => {
    request.socket.end('canary-4711 is not HTTP\r\n\r\n')
  })
  const { id, secretKey, webhookSecret } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  const written = world.logLines.join() + JSON.stringify((await world.deliveryLog(trackingId)).map(({ data }) => data))
  for (const secret of ['canary-4711', secretKey, webhookSecret]) t.notMatch(written, secret)
})

t.test('sends a waiting callback once while searches of a slow read model overlap', async (t) => {
  const world = await openWorld(t)
  const { receiver, trackingId } = await stopAfterFailure(t, world)
  const slow = (collection: Collection): Collection => ({
    ...collection,
    find: async (...query) => {
      const found = await collection.find(...query)
      await new Promise((resolve) => setTimeout(resolve, 40))
      return found
    },
  })
  const open = world.readModels.collection.bind(world.readModels)
  const readModels = Object.assign(Object.create(world.readModels), { collection: (name: string) => slow(open(name)) })
  // The callback is not reported before all searches have found it.
  receiver.behave = (_received, response) => void setTimeout(() => response.writeHead(200).end(), 200)
  world.clock.forward(10_000)
  world.start({ readModels, timing: { ...quickTiming, searchMs: 1 } })
  await until(async () => (await world.deliveryLog(trackingId)).length === 3)
  await world.dueChecks()
  t.equal(receiver.received.length, 2)
})
