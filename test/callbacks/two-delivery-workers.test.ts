import { randomInt } from 'node:crypto'
import t from 'tap'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { context, openWorld } from './world.js'

/** Returns the read models with separate leases, so that two processes hold the same lease. */
function withSeparateLeases(readModels: ReadModels): ReadModels {
  const collection: ReadModels['collection'] = (name) =>
    readModels.collection(name === 'leases' ? 'other_leases' : name)
  return new Proxy(readModels, {
    get(target, name) {
      if (name === 'collection') return collection
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

t.test('two processes that hold the same lease keep the order of callbacks, but may send one twice', async (t) => {
  const world = await openWorld(t)
  const accepted = new Map<string, number>()
  const early: string[] = []
  const inFlight = new Set<string>()
  const failures = new Map<string, number>()
  let overlaps = 0
  let held: { readonly webhookId: string; respond(): void } | undefined
  const receiver = await startReceiver(t, ({ trackingId, revision, webhookId }, response) => {
    if (inFlight.has(webhookId)) overlaps++
    inFlight.add(webhookId)
    if ((accepted.get(trackingId) ?? 0) < revision - 1) early.push(`${trackingId}@${revision}`)
    const respond = () => {
      if (response.headersSent) return
      // A third failure would cost hours on the test's clock, and minutes of real time.
      const failed = failures.get(webhookId) ?? 0
      const status = failed < 2 && randomInt(4) === 0 ? 500 : 200
      if (status === 200) accepted.set(trackingId, Math.max(accepted.get(trackingId) ?? 0, revision))
      else failures.set(webhookId, failed + 1)
      inFlight.delete(webhookId)
      response.writeHead(status).end()
    }
    // The first request gets its response when the other process has sent the same callback.
    if (held === undefined) {
      held = { webhookId, respond }
      return
    }
    if (held.webhookId === webhookId) held.respond()
    setTimeout(respond, randomInt(20))
  })
  const { id } = await world.merchant(receiver.url)
  world.start()
  world.start({ readModels: withSeparateLeases(world.readModels) })
  const trackingIds = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const trackingId = await world.deposit(id)
      await world.transfers.act(trackingId, { type: 'SendToManualControl', message: null }, context)
      await world.transfers.act(trackingId, { type: 'Complete' }, context)
      return trackingId
    }),
  )
  await until(async () => {
    // Moves the clock so that the next attempt of failed callbacks is due.
    world.clock.forward(1_000)
    const lanes = await Promise.all(trackingIds.map((trackingId) => world.callbacks.lane(trackingId)))
    return lanes.every(
      ({ deliveries }) => deliveries.length === 2 && deliveries.every(({ status }) => status === 'delivered'),
    )
  }, 90_000)
  t.strictSame(early, [], 'no callback is sent before the previous one is accepted')
  t.ok(overlaps > 0, `${receiver.received.length} requests for 40 callbacks, ${overlaps} while the same was in flight`)
  for (const trackingId of trackingIds) {
    const attempts = (await world.deliveryLog(trackingId)).filter(({ data }) => 'attempt' in data)
    const numbers = attempts.map(({ data }) => `${data.webhookId} ${data.attempt}`)
    t.equal(new Set(numbers).size, numbers.length, 'no attempt is counted twice')
    t.equal(attempts.filter(({ type }) => type === 'CallbackDelivered').length, 2)
  }
})
