import type { ServerResponse } from 'node:http'
import t from 'tap'
import { withSlowReadModels } from '../support/read-models.js'
import { accepts, type Behaviour, startReceiver } from './receiver.js'
import { context, openWorld, until, type World } from './world.js'

/** Attempts that hang take six times as long; a busy machine and a slow store take some of it. */
const maxDelayMs = 500

const generousMs = 120_000

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

const answer =
  (status: number, headers = {}): Behaviour =>
  (_received, response) =>
    void response.writeHead(status, headers).end('a body')

const late: Behaviour = (_received, response: ServerResponse) => {
  setTimeout(() => response.writeHead(200).end(), 600)
}

const misbehaviours: { readonly [name: string]: Behaviour } = {
  fails: answer(500),
  redirects: answer(302, { location: 'http://127.0.0.1:1/' }),
  'is busy': answer(429, { 'retry-after': '2' }),
  'is away': answer(503, { 'retry-after': 'nonsense' }),
  hangs: () => undefined,
  'answers late': late,
  resets: (_received, _response, request) => void request.socket.resetAndDestroy(),
  garbles: (_received, _response, request) => void request.socket.end('HTTP/1.1 2000 What\r\n\r\n'),
}

t.test('callbacks of one transfer arrive in order, each at least once, whatever the endpoint does', async (t) => {
  const world = await openWorld(t, { timing: { attemptTimeoutMs: 400 } })
  const behaviours = Object.values(misbehaviours)
  const accepted = new Map<string, number[]>()
  const webhookIds = new Map<string, string[]>()
  let count = 0
  const receiver = await startReceiver(t, (received, response, request) => {
    const { trackingId, revision, webhookId } = received
    const key = `${trackingId}@${revision}`
    const ids = [...(webhookIds.get(key) ?? []), webhookId]
    webhookIds.set(key, ids)
    // None to four failures, another one each time.
    const failures = (Number.parseInt(trackingId.slice(0, 4), 16) + revision) % 5
    if (ids.length <= failures) return behaviours[count++ % behaviours.length]!(received, response, request)
    accepted.set(trackingId, [...(accepted.get(trackingId) ?? []), revision])
    response.writeHead(revision === 1 ? 204 : 200).end()
  })
  const { id } = await world.merchant(receiver.url, { callbackOnCreate: true })
  world.start()
  const trackingIds = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const trackingId = await world.deposit(id)
      await world.transfers.changeStatus(trackingId, 'SendToManualControl', null, context)
      await world.transfers.complete(trackingId, {}, context)
      return trackingId
    }),
  )
  const timer = setInterval(() => world.clock.forward(600_000), 50)
  t.teardown(() => clearInterval(timer))
  await until(async () => {
    const lanes = await Promise.all(trackingIds.map((trackingId) => world.callbacks.lane(trackingId)))
    return lanes.every(
      ({ deliveries }) => deliveries.length === 3 && deliveries.every(({ status }) => status === 'delivered'),
    )
  }, 60_000)
  clearInterval(timer)
  // One whose answer came too late on a busy machine is sent again before the next.
  const firsts = (trackingId: string) => accepted.get(trackingId)?.filter((revision, n, all) => revision !== all[n - 1])
  for (const trackingId of trackingIds) t.strictSame(firsts(trackingId), [0, 1, 2], 'in order')
  for (const [key, ids] of webhookIds) t.equal(new Set(ids).size, 1, `${key} keeps its id`)
  t.equal(new Set([...webhookIds.values()].flat()).size, 36)
})

/** From the completion to the callback, in milliseconds. */
async function delays(
  world: World,
  merchantId: string,
  receiver: { received: { trackingId: string; atMs: number }[] },
) {
  const measured: number[] = []
  for (let i = 0; i < 15; i++) {
    const trackingId = await world.deposit(merchantId)
    const beganMs = performance.now()
    await world.transfers.complete(trackingId, {}, context)
    await until(() => receiver.received.some((received) => received.trackingId === trackingId))
    measured.push(receiver.received.find((received) => received.trackingId === trackingId)!.atMs - beganMs)
  }
  return measured
}

for (const name of ['hangs', 'resets', 'fails']) {
  t.test(`another merchant is not delayed by more than ${maxDelayMs} ms while an endpoint ${name}`, async (t) => {
    const world = await openWorld(t, { timing: { attemptTimeoutMs: 15_000 } })
    const good = await startReceiver(t)
    const bad = await startReceiver(t, misbehaviours[name])
    const { id: goodId } = await world.merchant(good.url)
    const { id: badId } = await world.merchant(bad.url)
    const part = world.start()
    const alone = median(await delays(world, goodId, good))
    await Promise.all(Array.from({ length: 100 }, () => world.completed(badId)))
    await until(() => bad.received.length >= 16)
    let beside = 0
    for (let tries = 0; tries < 3; tries++) {
      beside = median(await delays(world, goodId, good))
      if (beside - alone <= maxDelayMs) break
    }
    t.comment(`median ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside`)
    t.ok(beside - alone <= maxDelayMs, `${alone} ms alone, ${beside} ms beside`)
    // Or the stop would wait for what hangs.
    await bad.close()
    await part.stop()
  })
}

t.test('a name that does not resolve delays nobody else', async (t) => {
  const world = await openWorld(t, { timing: { attemptTimeoutMs: 3_000 } })
  const good = await startReceiver(t)
  const { id: goodId } = await world.merchant(good.url)
  const { id: badId } = await world.merchant('https://slow.example/')
  world.start({ resolve: () => new Promise(() => undefined) })
  const alone = median(await delays(world, goodId, good))
  await Promise.all(Array.from({ length: 100 }, () => world.completed(badId)))
  const beside = median(await delays(world, goodId, good))
  t.ok(beside - alone <= maxDelayMs, `${alone} ms alone, ${beside} ms beside`)
})

const manyCallbacks = { skip: withSlowReadModels }
t.test('far more callbacks than memory holds are all delivered once the endpoint is back', manyCallbacks, async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, answer(500))
  const { id } = await world.merchant(receiver.url)
  world.start()
  await Promise.all(Array.from({ length: 600 }, () => world.completed(id)))
  const waiting = async () =>
    (await world.readModels.collection('callbacks').countDocuments({ merchantId: id })) === 600
  await until(waiting, generousMs)
  await until(() => receiver.received.length >= 16, generousMs)
  receiver.behave = accepts
  receiver.received.length = 0
  // Time runs faster: the breaker's probe is due, then what failed, also what was in flight until now.
  const delivered = () => {
    world.clock.forward(1_000)
    return new Set(receiver.received.map(({ trackingId }) => trackingId)).size === 600
  }
  await until(delivered, generousMs)
  t.equal(new Set(receiver.received.map(({ webhookId }) => webhookId)).size, 600)
})
