import { randomUUID } from 'node:crypto'
import { type Rules, sleep } from '@transferd/event-log/test/support/group-scene'

const onlyZero = (n: number) => n === 0

export const timeoutRules: Rules = {
  'redelivers at the first tick after the timeout': async (t, scene) => {
    await scene.create({ messageTimeoutMs: 1_000 })
    const client = await scene.consume()
    const putMs = Date.now()
    await scene.put(1)
    await client.count(3)
    t.same(client.attempts.slice(0, 3), [
      [0, 0],
      [0, 1],
      [0, 2],
    ])
    // The time is measured from the append, because the arrival of a delivery depends on the machine.
    const after = client.atMs.slice(1, 3).map((atMs) => atMs - putMs)
    t.ok(
      after.every((ms, n) => ms >= 950 * (n + 1) && ms <= 10_000 * (n + 1)),
      `after ${after} ms`,
    )
  },

  'after maxRetryCount redeliveries the event is parked': async (t, scene) => {
    await scene.put(1)
    await scene.create({ messageTimeoutMs: 300, maxRetryCount: 2 })
    const client = await scene.consume()
    t.equal(await scene.untilParked(1), 1)
    await client.quiet(1_300)
    t.same(client.attempts, [
      [0, 0],
      [0, 1],
      [0, 2],
    ])
    t.equal(await scene.inFlight(), 0)
    t.same(
      (await scene.parked()).map((p) => p.reason),
      ['Reached retry count of 2'],
    )
  },

  'with maxRetryCount 0 there is one delivery': async (t, scene) => {
    await scene.put(2)
    await scene.create({ messageTimeoutMs: 300, maxRetryCount: 0 })
    const client = await scene.consume()
    await client.count(2)
    await client.ack(1)
    t.equal(await scene.untilParked(1), 1)
    t.same(client.attempts, [
      [0, 0],
      [1, 0],
    ])
  },

  'a timeout of 0 ends at the next tick': async (t, scene) => {
    await scene.put(1)
    await scene.create({ messageTimeoutMs: 0, maxRetryCount: 100 })
    const client = await scene.consume()
    t.same((await client.count(3)).attempts.slice(0, 3), [
      [0, 0],
      [0, 1],
      [0, 2],
    ])
  },

  'redelivers only unacknowledged events': async (t, scene) => {
    await scene.put(2)
    await scene.create({ messageTimeoutMs: 1_000 })
    const client = await scene.consume()
    await client.count(2)
    await client.ack(0)
    t.same((await client.count(3)).attempts.slice(0, 3), [
      [0, 0],
      [1, 0],
      [1, 1],
    ])
  },

  'timed-out events precede new ones': async (t, scene) => {
    await scene.put(8)
    await scene.create({ messageTimeoutMs: 800 })
    const client = await scene.consume(2)
    await client.count(4)
    t.same(client.attempts.slice(0, 4), [
      [0, 0],
      [1, 0],
      [0, 1],
      [1, 1],
    ])
    await client.ack(2, 3)
    await client.count(6)
    t.same(client.numbers.slice(4, 6), [2, 3])
  },

  'a late ack acknowledges the redelivery': async (t, scene) => {
    await scene.put(1)
    await scene.create({ messageTimeoutMs: 1_000 })
    const client = await scene.consume()
    await client.count(2)
    await client.ack(0)
    await scene.untilInFlight(0)
    // A busy machine may exceed the second timeout too.
    const before = client.attempts.length
    t.same((await client.quiet(2_300)).attempts.slice(before), [], 'no redelivery follows the ack')
  },

  'redelivers to another consumer': async (t, scene) => {
    await scene.create({ messageTimeoutMs: 1_000 })
    const one = await scene.consume()
    const two = await scene.consume()
    await scene.put(1)
    await one.count(1)
    await two.count(1)
    t.same(
      [one.attempts[0], two.attempts[0]],
      [
        [0, 0],
        [0, 1],
      ],
    )
  },

  'the time in the buffer does not count': async (t, scene) => {
    await scene.put(2)
    await scene.create({ messageTimeoutMs: 400, maxRetryCount: 0 })
    await sleep(1_600)
    const client = await scene.consume()
    t.same((await client.count(2)).attempts, [
      [0, 0],
      [1, 0],
    ])
    t.equal(await scene.parkedCount(), 0)
  },

  'parking an event makes room for the next one': async (t, scene) => {
    await scene.put(3)
    await scene.create({ messageTimeoutMs: 300, maxRetryCount: 0 })
    const client = await scene.consume(1)
    t.same((await client.count(3)).attempts, [
      [0, 0],
      [1, 0],
      [2, 0],
    ])
    t.equal(await scene.untilParked(3), 3)
  },
}

export const nackRules: Rules = {
  'retry: redelivers immediately, and first': async (t, scene) => {
    await scene.put(8)
    await scene.create()
    const client = await scene.consume(3)
    await client.count(3)
    await client.nack('retry', 1)
    t.same((await client.count(4)).attempts, [
      [0, 0],
      [1, 0],
      [2, 0],
      [1, 1],
    ])
    t.equal(await scene.inFlight(), 3)
  },

  'retry: redelivers several in their order': async (t, scene) => {
    await scene.put(6)
    await scene.create()
    const client = await scene.consume(4)
    await client.count(4)
    await client.nack('retry', 3, 0, 2)
    t.same((await (await client.count(7)).quiet()).attempts.slice(4), [
      [0, 1],
      [2, 1],
      [3, 1],
    ])
  },

  'retry: parks after maxRetryCount': async (t, scene) => {
    await scene.put(2)
    await scene.create({ maxRetryCount: 3 })
    const client = await scene.consume(10, (d, self) =>
      onlyZero(d.event.data.n as number) ? self.consumer.nack('retry', '', d.ackId) : self.consumer.ack(d.ackId),
    )
    t.equal(await scene.untilParked(1), 1)
    t.same(
      client.deliveries.filter((d) => onlyZero(d.event.data.n as number)).map((d) => d.retryCount),
      [0, 1, 2, 3],
    )
    t.same(
      (await scene.parked()).map((p) => p.reason),
      ['Reached retry count of 3'],
    )
  },

  'retry: parks immediately with maxRetryCount 0': async (t, scene) => {
    await scene.put(1)
    await scene.create({ maxRetryCount: 0 })
    const client = await scene.consume()
    await client.count(1)
    await client.nack('retry', 0)
    t.equal(await scene.untilParked(1), 1)
    t.same((await client.quiet()).attempts, [[0, 0]])
  },

  'retry: the count follows the event from consumer to consumer': async (t, scene) => {
    await scene.put(1)
    await scene.create()
    const one = await scene.consume()
    await one.count(1)
    await one.nack('retry', 0)
    await one.count(2)
    await scene.stop(one)
    t.same((await (await scene.consume()).count(1)).attempts, [[0, 2]])
  },

  'retry: disconnects count towards the maximum': async (t, scene) => {
    await scene.put(1)
    await scene.create({ maxRetryCount: 2 })
    for (let i = 0; i < 3; i += 1) {
      const client = await scene.consume()
      await client.count(1)
      await scene.stop(client)
    }
    const client = await scene.consume()
    t.same((await client.count(1)).attempts, [[0, 3]])
    t.equal(await scene.parkedCount(), 0)
    await client.nack('retry', 0)
    t.equal(await scene.untilParked(1), 1)
    t.equal(client.deliveries.length, 1)
  },

  'park: stores the reason, stream, revision and time, and does not redeliver the event': async (t, scene) => {
    await scene.put(4)
    await scene.create()
    const client = await scene.consume()
    await client.count(4)
    t.same(await scene.parked(), [])
    const before = Date.now()
    await client.consumer.nack('park', 'my reason', client.deliveries[2]!.ackId)
    t.equal(await scene.untilParked(1), 1)
    await client.consumer.nack('park', '', client.deliveries[0]!.ackId)
    t.equal(await scene.untilParked(2), 2)
    t.equal((await client.quiet()).deliveries.length, 4)
    t.equal(await scene.inFlight(), 2)
    const parked = await scene.parked()
    t.same(
      parked.map((p) => [p.parkedRevision, p.stream, p.revision, p.reason.trim()]),
      [
        [0, `${scene.prefix}a`, 2, "Client explicitly NAK'ed message.\nmy reason"],
        [1, `${scene.prefix}a`, 0, "Client explicitly NAK'ed message."],
      ],
    )
    t.ok(parked.every((p) => Math.abs(p.parkedAtMs - before) < 60_000))
    t.equal((await scene.groups.listParked(scene.group, { maxCount: 1 })).length, 1)
  },

  'park: keeps the given order of several events': async (t, scene) => {
    await scene.put(5)
    await scene.create()
    const client = await scene.consume()
    await client.count(5)
    await client.nack('park', 3, 1, 4)
    t.equal(await scene.untilParked(3), 3)
    t.same(
      (await scene.parked()).map((p) => p.revision),
      [3, 1, 4],
    )
    t.equal(await scene.inFlight(), 2)
  },

  'park: parks an event once, regardless of repeats': async (t, scene) => {
    await scene.put(1)
    await scene.create()
    const client = await scene.consume()
    await client.count(1)
    await client.nack('park', 0)
    await scene.untilParked(1)
    await client.nack('park', 0)
    await client.ack(0)
    await sleep(200)
    t.equal((await scene.parked()).length, 1)
  },

  'skip: processes the event without parking it': async (t, scene) => {
    await scene.put(2)
    await scene.create()
    const client = await scene.consume()
    await client.count(2)
    await client.nack('skip', 0, 1)
    await scene.untilInFlight(0)
    t.same((await client.quiet()).attempts, [
      [0, 0],
      [1, 0],
    ])
    t.same(await scene.parked(), [])
  },

  'ids that are unknown or acknowledged are ignored': async (t, scene) => {
    await scene.put(2)
    await scene.create()
    const client = await scene.consume()
    await client.count(2)
    await client.ack(0)
    for (const action of ['park', 'retry', 'skip'] as const) {
      await client.consumer.nack(action, '', randomUUID())
      await client.nack(action, 0)
    }
    await client.quiet()
    t.same(
      [client.deliveries.length, client.error, await scene.inFlight(), await scene.parkedCount()],
      [2, undefined, 1, 0],
    )
  },

  'a nack of another consumer counts': async (t, scene) => {
    await scene.put(1)
    await scene.create()
    const one = await scene.consume()
    await one.count(1)
    const two = await scene.consume()
    await two.consumer.nack('park', '', one.deliveries[0]!.ackId)
    t.equal(await scene.untilParked(1), 1)
    t.equal(await scene.inFlight(), 0)
  },
}
