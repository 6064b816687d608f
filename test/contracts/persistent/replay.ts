import { each, type Rules, sleep } from '@transferd/event-log/test/support/group-scene'
import { InvalidSettingsError } from '../../../src/event-store/event-store.js'

export const replayRules: Rules = {
  'delivers all in parked order with retryCount 0, acknowledged by the id of the parked entry': async (t, scene) => {
    await scene.put(4)
    await scene.create()
    const client = await scene.consume()
    await client.count(4)
    await scene.park(client, 2, 0, 3)
    await client.ack(1)
    await scene.replay()
    await client.count(7)
    t.same(client.attempts.slice(4), [
      [2, 0],
      [0, 0],
      [3, 0],
    ])
    const again = client.deliveries.slice(4)
    t.ok(again.every((d) => d.event.stream === `${scene.prefix}a` && d.event.revision === d.event.data.n))
    t.ok(again.every((d) => d.ackId !== d.event.id))
    t.equal(await scene.untilParked(0), 0)
    t.same(await scene.parked(), [])
    t.equal(await scene.inFlight(), 3)
    await client.ack(4, 5, 6)
    await scene.untilInFlight(0)
    await scene.replay()
    t.equal((await client.quiet(400)).deliveries.length, 7, 'a second replay delivers nothing')
  },

  'stopAt is exclusive and can exceed the end; numbers continue': async (t, scene) => {
    await scene.put(6)
    await scene.create()
    const client = await scene.consume()
    await client.count(6)
    await scene.park(client, 5, 4, 3, 2, 1)
    await scene.replay(2)
    t.same((await (await client.count(8)).quiet()).numbers.slice(6), [5, 4])
    t.equal(await scene.untilParked(3), 3)
    t.same(
      (await scene.parked()).map((p) => p.parkedRevision),
      [2, 3, 4],
    )
    await scene.replay(100)
    t.same((await (await client.count(11)).quiet()).numbers.slice(8), [3, 2, 1])
    t.equal(await scene.untilParked(0), 0)
    await client.ack(6, 7, 8, 9, 10)
    await scene.untilInFlight(1)
    await client.nack('park', 0)
    t.equal(await scene.untilParked(1), 1)
    t.same(
      (await scene.parked()).map((p) => p.parkedRevision),
      [5],
    )
  },

  'rejects a negative stopAt': async (t, scene) => {
    await scene.put(1)
    await scene.create()
    const client = await scene.consume()
    await client.count(1)
    await scene.park(client, 0)
    await t.rejects(scene.replay(-1), { name: new InvalidSettingsError().name })
    t.equal((await client.quiet()).deliveries.length, 1)
    t.equal(await scene.parkedCount(), 1)
  },

  'does nothing if no event is parked': async (t, scene) => {
    await scene.put(1)
    await scene.create()
    const client = await scene.consume()
    await client.count(1)
    await scene.replay()
    t.equal((await client.quiet()).deliveries.length, 1)
    await scene.park(client, 0)
    await scene.replay()
    t.same((await client.count(2)).attempts, [
      [0, 0],
      [0, 0],
    ])
  },

  'replayed events wait for a consumer': async (t, scene) => {
    await scene.put(3)
    await scene.create()
    const one = await scene.consume()
    await one.count(3)
    await scene.park(one, 0, 1)
    await one.ack(2)
    await scene.untilInFlight(0)
    await scene.stop(one)
    await scene.replay()
    t.equal(await scene.untilParked(0), 0)
    const two = await scene.consume()
    t.same((await (await two.count(2)).quiet()).attempts, [
      [0, 0],
      [1, 0],
    ])
  },

  'replayed events precede buffered events': async (t, scene) => {
    await scene.put(6)
    await scene.create()
    const client = await scene.consume(1)
    await client.count(1)
    await scene.park(client, 0)
    await client.count(2)
    await scene.replay()
    await scene.untilParked(0)
    await sleep(100)
    await client.ack(1)
    await client.count(3)
    await client.ack(2)
    t.same((await client.count(4)).attempts, [
      [0, 0],
      [1, 0],
      [0, 0],
      [2, 0],
    ])
  },

  'a replayed event that is parked again names the original under the next number': async (t, scene) => {
    await scene.put(2)
    await scene.create()
    const client = await scene.consume()
    await client.count(2)
    await scene.park(client, 1)
    await scene.replay()
    await client.count(3)
    await client.nack('park', 2)
    t.equal(await scene.untilParked(1), 1)
    t.same(
      (await scene.parked()).map((p) => [p.parkedRevision, p.stream, p.revision]),
      [[1, `${scene.prefix}a`, 1]],
    )
    await scene.replay()
    t.same((await client.count(4)).attempts[3], [1, 0])
  },

  'the retry count of a replayed event restarts at 0, and the maximum parks it again': async (t, scene) => {
    await scene.put(1)
    await scene.create({ maxRetryCount: 1 })
    const client = await scene.consume()
    for (let i = 0; i < 4; i += 1) {
      await client.count(i + 1)
      await client.nack('retry', i)
      if (i === 1) await scene.untilParked(1)
      if (i === 1) await scene.replay()
    }
    t.equal(await scene.untilParked(1), 1)
    t.same(client.attempts, [
      [0, 0],
      [0, 1],
      [0, 0],
      [0, 1],
    ])
  },

  'replayed events time out like other events': async (t, scene) => {
    await scene.put(1)
    await scene.create({ maxRetryCount: 1, messageTimeoutMs: 2_000 })
    const client = await scene.consume()
    await client.count(1)
    await scene.park(client, 0)
    await scene.replay()
    t.same((await client.count(3)).attempts, [
      [0, 0],
      [0, 0],
      [0, 1],
    ])
    t.equal(await scene.untilParked(1), 1)
  },

  'a disconnect does not lose replayed events': async (t, scene) => {
    await scene.put(2)
    await scene.create()
    const one = await scene.consume()
    await one.count(2)
    await scene.park(one, 0, 1)
    await scene.replay()
    await one.count(4)
    await scene.stop(one)
    t.same((await (await scene.consume()).count(2)).attempts, [
      [0, 1],
      [1, 1],
    ])
  },

  'replayed events do not delay the checkpoint': async (t, scene) => {
    await scene.put(3)
    await scene.create(each)
    const client = await scene.consume()
    await client.count(3)
    await scene.park(client, 0)
    await client.ack(1, 2)
    t.equal(await scene.untilCovered(3), 3)
    await scene.replay()
    await client.count(4)
    await sleep(1_200)
    t.equal(await scene.covered(), 3)
    await scene.put(1)
    await client.count(5)
    await client.ack(4)
    t.equal(await scene.untilCovered(4), 4)
  },
}

export const replayOurs: Rules = {
  'stopAt 0 replays nothing and blocks nothing': async (t, scene) => {
    await scene.put(1)
    await scene.create()
    const client = await scene.consume()
    await client.count(1)
    await scene.park(client, 0)
    await scene.replay(0)
    t.equal((await client.quiet()).deliveries.length, 1)
    t.equal(await scene.parkedCount(), 1)
    await scene.replay()
    t.equal((await client.count(2)).deliveries.length, 2)
  },

  'a replayed event without an ack is parked again after a load': async (t, scene) => {
    await scene.put(3)
    await scene.create(each)
    const one = await scene.consume()
    await one.count(3)
    await scene.park(one, 0, 1)
    await one.ack(2)
    t.equal(await scene.untilCovered(3), 3)
    await scene.replay()
    await one.count(5)
    await one.ack(3)
    await scene.untilInFlight(1)
    await sleep(200)
    await scene.update(each)
    const two = await scene.consume()
    t.same((await two.quiet(500)).numbers, [])
    t.equal(await scene.untilParked(1), 1)
    t.same(
      (await scene.parked()).map((p) => p.revision),
      [1],
    )
    await scene.replay()
    t.same((await two.count(1)).attempts, [[1, 0]])
  },
}
