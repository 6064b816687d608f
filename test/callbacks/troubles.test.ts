import t from 'tap'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { startReceiver } from './receiver.js'
import { openWorld, until } from './world.js'

t.test('while the log takes no report, the callback is not sent again; afterwards it is delivered', async (t) => {
  let away = false
  const world = await openWorld(t, {
    wrapStore: (store): EventStore => ({
      ...store,
      appendInOrder: async (appends) => {
        if (away) throw new StoreUnavailableError('the disk is full')
        return store.appendInOrder(appends)
      },
    }),
  })
  const receiver = await startReceiver(t, (_received, response) => {
    away = true
    response.writeHead(200).end()
  })
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.completed(id)
  await until(() => receiver.received.length === 1)
  world.clock.forward(60_000)
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  t.equal(receiver.received.length, 1)
  t.equal((await world.deliveryLog(trackingId)).length, 1)
  away = false
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  t.equal(receiver.received.length, 1)
})

t.test('of two processes one delivers, and the other goes on when that one stops', async (t) => {
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

t.test('what waited when it stopped is found in the read model after a restart', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, response) => void response.writeHead(500).end())
  const { id } = await world.merchant(receiver.url)
  const first = world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  await first.stop()
  receiver.behave = (_received, response) => void response.writeHead(200).end()
  world.clock.forward(10_000)
  world.start()
  await until(async () => (await world.deliveryLog(trackingId)).length === 3)
  t.equal(receiver.received.length, 2)
})

t.test('neither secrets nor what an endpoint answers reach the log lines', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, _response, request) => {
    request.socket.end('canary-4711 is no HTTP\r\n\r\n')
  })
  const { id, secretKey, webhookSecret } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  const written = world.logLines.join() + JSON.stringify((await world.deliveryLog(trackingId)).map(({ data }) => data))
  for (const secret of ['canary-4711', secretKey, webhookSecret]) t.notMatch(written, secret)
})
