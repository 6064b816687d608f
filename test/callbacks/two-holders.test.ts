import { randomInt } from 'node:crypto'
import t from 'tap'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { startReceiver } from './receiver.js'
import { context, openWorld, until } from './world.js'

/** The read models with leases of its own: whoever works with them never learns that somebody else does the same. */
function withOwnLeases(readModels: ReadModels): ReadModels {
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

t.test('two holders at once send twice, but never out of order: it is the log that keeps the order', async (t) => {
  const world = await openWorld(t)
  const answered = new Map<string, number>()
  const early: string[] = []
  const underWay = new Set<string>()
  let overlaps = 0
  const receiver = await startReceiver(t, ({ trackingId, revision, webhookId }, response) => {
    if (underWay.has(webhookId)) overlaps++
    underWay.add(webhookId)
    if ((answered.get(trackingId) ?? 0) < revision - 1) early.push(`${trackingId}@${revision}`)
    // Late enough for the other to send the same meanwhile.
    setTimeout(() => {
      const status = randomInt(4) === 0 ? 500 : 200
      if (status === 200) answered.set(trackingId, Math.max(answered.get(trackingId) ?? 0, revision))
      underWay.delete(webhookId)
      response.writeHead(status).end()
    }, randomInt(20))
  })
  const { id } = await world.merchant(receiver.url)
  world.start()
  world.start({ readModels: withOwnLeases(world.readModels) })
  const trackingIds = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const trackingId = await world.deposit(id)
      await world.transfers.changeStatus(trackingId, 'SendToManualControl', null, context)
      await world.transfers.complete(trackingId, {}, context)
      return trackingId
    }),
  )
  await until(async () => {
    // The next attempt of what has failed.
    world.clock.forward(1_000)
    const lanes = await Promise.all(trackingIds.map((trackingId) => world.callbacks.lane(trackingId)))
    return lanes.every(
      ({ deliveries }) => deliveries.length === 2 && deliveries.every(({ status }) => status === 'delivered'),
    )
  }, 90_000)
  t.strictSame(early, [], 'none before the one ahead of it was accepted')
  t.ok(overlaps > 0, `${receiver.received.length} requests for 40 callbacks, ${overlaps} beside another of the same`)
  for (const trackingId of trackingIds) {
    const attempts = (await world.deliveryLog(trackingId)).filter(({ data }) => 'attempt' in data)
    const numbers = attempts.map(({ data }) => `${data.webhookId} ${data.attempt}`)
    t.equal(new Set(numbers).size, numbers.length, 'no attempt is counted twice')
    t.equal(attempts.filter(({ type }) => type === 'CallbackDelivered').length, 2)
  }
})
