import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { endpointHealth } from '../../src/queries/endpoint-queries.js'
import { until } from '../support/until.js'
import { accepts, type Behaviour, startReceiver } from './receiver.js'
import { context, openWorld, type World } from './world.js'

const generousMs = 120_000

const respond =
  (status: number, headers = {}): Behaviour =>
  (_received, response) =>
    void response.writeHead(status, headers).end('a body')

const attemptTimeoutMs = 100

const respondLate: Behaviour = (_received, response: ServerResponse) => {
  setTimeout(() => response.writeHead(200).end(), 1.5 * attemptTimeoutMs)
}

const misbehaviours: { readonly [name: string]: Behaviour } = {
  fails: respond(500),
  redirects: respond(302, { location: 'http://127.0.0.1:1/' }),
  'is busy': respond(429, { 'retry-after': '2' }),
  'is unavailable': respond(503, { 'retry-after': 'nonsense' }),
  hangs: () => undefined,
  'responds late': respondLate,
  resets: (_received, _response, request) => void request.socket.resetAndDestroy(),
  garbles: (_received, _response, request) => void request.socket.end('HTTP/1.1 2000 What\r\n\r\n'),
}

t.test(
  'delivers the callbacks of a transfer in order and at least once, regardless of how the endpoint fails',
  async (t) => {
    const world = await openWorld(t, { timing: { attemptTimeoutMs } })
    const behaviours = Object.values(misbehaviours)
    const accepted = new Map<string, number[]>()
    const webhookIds = new Map<string, string[]>()
    let count = 0
    const receiver = await startReceiver(t, (received, response, request) => {
      const { trackingId, revision, webhookId } = received
      const key = `${trackingId}@${revision}`
      const ids = [...(webhookIds.get(key) ?? []), webhookId]
      webhookIds.set(key, ids)
      // Each callback fails up to four times, in different ways.
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
        await world.transfers.act(trackingId, { type: 'SendToManualControl', message: null }, context)
        await world.transfers.act(trackingId, { type: 'Complete' }, context)
        return trackingId
      }),
    )
    await until(async () => {
      const lanes = await Promise.all(trackingIds.map((trackingId) => world.callbacks.lane(trackingId)))
      const next = lanes.flatMap(({ deliveries }) => deliveries.find(({ status }) => status === 'waiting') ?? [])
      const waitMs = Math.min(...next.map(({ nextAttemptAt }) => Date.parse(nextAttemptAt))) - world.clock.nowMs()
      // At least a second, because the breaker may delay the next attempt.
      if (next.length > 0) world.clock.forward(Math.max(waitMs, 1_000))
      return next.length === 0 && lanes.every(({ deliveries }) => deliveries.length === 3)
    }, 60_000)
    // A callback whose response is late on a busy machine is sent again before the next one.
    const firsts = (trackingId: string) =>
      accepted.get(trackingId)?.filter((revision, n, all) => revision !== all[n - 1])
    for (const trackingId of trackingIds) t.strictSame(firsts(trackingId), [0, 1, 2], 'the callbacks arrive in order')
    for (const [key, ids] of webhookIds) t.equal(new Set(ids).size, 1, `${key} keeps its id`)
    t.equal(new Set([...webhookIds.values()].flat()).size, 36)
  },
)

/**
 * Completes transfers of a merchant and waits for their callbacks. The clock does not advance and no attempt times out, so this ends only if
 * they wait for no attempt of another merchant.
 */
async function deliversToOthers(t: Test, world: World) {
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  for (let count = 1; count <= 9; count++) {
    await world.completed(id)
    await until(() => receiver.received.length === count, generousMs)
  }
  t.equal(receiver.received.length, 9)
}

for (const name of ['hangs', 'fails', 'resets'] as const) {
  t.test(`an endpoint that ${name} does not delay other merchants`, async (t) => {
    const world = await openWorld(t, { timing: { attemptTimeoutMs: 10 * generousMs } })
    const bad = await startReceiver(t, misbehaviours[name])
    const { id } = await world.merchant(bad.url)
    const part = world.start()
    await Promise.all(Array.from({ length: 100 }, () => world.completed(id)))
    await until(() => bad.received.length >= 16, generousMs)
    await deliversToOthers(t, world)
    // Without this, the stop would wait for the hanging attempts.
    await bad.close()
    await part.stop()
  })
}

t.test('a name that does not resolve delays no other merchant', async (t) => {
  const world = await openWorld(t)
  const { id } = await world.merchant('https://slow.example/')
  const timeouts: (() => void)[] = []
  const resolve = () => new Promise<never>((_resolve, reject) => timeouts.push(() => reject(new Error('timed out'))))
  const part = world.start({ resolve })
  await Promise.all(Array.from({ length: 100 }, () => world.completed(id)))
  await until(() => timeouts.length >= 16, generousMs)
  await deliversToOthers(t, world)
  const stopped = part.stop()
  for (const end of timeouts) end()
  await stopped
})

t.test('delivers far more callbacks than fit in memory once the endpoint recovers', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, respond(500))
  const { id } = await world.merchant(receiver.url)
  world.start()
  await Promise.all(Array.from({ length: 600 }, () => world.completed(id)))
  const waiting = async () =>
    (await world.readModels.collection('callbacks').countDocuments({ merchantId: id })) === 600
  await until(waiting, generousMs)
  await until(() => receiver.received.length >= 16, generousMs)
  receiver.behave = accepts
  receiver.received.length = 0
  // Moves the clock so that the breaker's probe is due, and then the failed callbacks.
  const delivered = () => {
    world.clock.forward(1_000)
    return new Set(receiver.received.map(({ trackingId }) => trackingId)).size === 600
  }
  await until(delivered, generousMs)
  t.equal(new Set(receiver.received.map(({ webhookId }) => webhookId)).size, 600)
})

t.test(
  'an endpoint fails from its first failed attempt, with the last body, until it accepts a callback',
  async (t) => {
    const world = await openWorld(t)
    let status = 500
    const receiver = await startReceiver(
      t,
      (_received, response) => void response.writeHead(status).end('é'.repeat(600)),
    )
    const { id } = await world.merchant(receiver.url)
    world.start()
    const health = async () => {
      const [merchant] = world.directory.all()
      return endpointHealth(world, merchant!)
    }
    t.match(await health(), { state: 'healthy', failingSince: null, attempts: [], lastBody: null })
    const trackingId = await world.completed(id)
    await until(async () => (await health()).state === 'failing')
    const { attempts, failingSince, lastBody } = await health()
    t.match(attempts, [{ trackingId, transferStatus: 2, httpStatus: 500, failure: 'http 500', body: lastBody }])
    t.equal(failingSince, attempts[0]?.at)
    t.equal(lastBody, 'é'.repeat(500), 'the first 1,000 bytes')
    status = 200
    world.clock.forward(10_000)
    await until(async () => (await health()).state === 'healthy')
    t.match(await health(), {
      failingSince: null,
      lastBody: null,
      attempts: [{ httpStatus: 500 }, { httpStatus: 200 }],
    })
  },
)
