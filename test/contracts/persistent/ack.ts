import { randomUUID } from 'node:crypto'
import { acking, each, type GroupScene, type Rules, sleep, until } from '@transferd/event-log/test/support/group-scene'
import type { Test } from 'tap'

export const ackRules: Rules = {
  'unacknowledged events are in flight': async (t, scene) => {
    await scene.put(5)
    await scene.create()
    const client = await scene.consume()
    await client.count(5)
    t.equal(await scene.inFlight(), 5)
    await client.ack(0)
    await scene.untilInFlight(4)
    await client.ack(1, 2, 3, 4)
    await scene.untilInFlight(0)
    t.equal(await scene.inFlight(), 0)
  },

  'unknown and repeated ids are ignored': async (t, scene) => {
    await scene.put(4)
    await scene.create()
    const client = await scene.consume(2)
    await client.count(2)
    await client.consumer.ack(randomUUID())
    t.same((await client.quiet()).numbers, [0, 1])
    for (let i = 0; i < 3; i += 1) await client.ack(0)
    await client.ack(0, 0)
    t.same((await (await client.count(3)).quiet()).numbers, [0, 1, 2])
    t.equal(await scene.inFlight(), 2)
  },

  'an id acknowledged before its delivery is delivered': async (t, scene) => {
    await scene.put(4)
    const ids = (await scene.store.readStream(`${scene.prefix}a`)).map((event) => event.id)
    await scene.create()
    const client = await scene.consume(2)
    await client.count(2)
    await client.consumer.ack(ids[3]!)
    await sleep(100)
    await client.ackAll()
    t.same((await client.count(4)).numbers, [0, 1, 2, 3])
  },

  'an ack of another consumer counts': async (t, scene) => {
    await scene.put(1)
    await scene.create()
    const one = await scene.consume()
    await one.count(1)
    const two = await scene.consume()
    await two.consumer.ack(one.deliveries[0]!.ackId)
    await scene.untilInFlight(0)
    await scene.stop(one)
    t.same((await two.quiet()).attempts, [])
  },

  'the next consumer receives the unacknowledged events before new ones': async (t, scene) => {
    await scene.put(8)
    await scene.create()
    const one = await scene.consume(5)
    await one.count(5)
    await one.ack(0, 2)
    await one.count(7)
    await scene.stop(one)
    const two = await scene.consume()
    t.same((await (await two.count(6)).quiet()).attempts, [
      [1, 1],
      [3, 1],
      [4, 1],
      [5, 1],
      [6, 1],
      [7, 0],
    ])
  },

  'another connected consumer takes over': async (t, scene) => {
    await scene.put(6)
    await scene.create()
    const one = await scene.consume(6)
    await one.count(6)
    await one.ack(1)
    const two = await scene.consume()
    t.same((await two.quiet()).attempts, [])
    await scene.stop(one)
    t.same((await (await two.count(5)).quiet()).attempts, [
      [0, 1],
      [2, 1],
      [3, 1],
      [4, 1],
      [5, 1],
    ])
  },

  'unacknowledged events precede new ones in a small buffer too': async (t, scene) => {
    await scene.put(20)
    await scene.create()
    const one = await scene.consume(4)
    await one.count(4)
    await scene.stop(one)
    const two = await scene.consume(2, acking)
    t.same(
      (await two.count(20)).attempts,
      Array.from({ length: 20 }, (_, n) => [n, n < 4 ? 1 : 0]),
    )
  },

  'a disconnect counts as a retry, but never parks': async (t, scene) => {
    await scene.put(2)
    await scene.create({ maxRetryCount: 1 })
    for (let i = 0; i < 4; i += 1) {
      const client = await scene.consume()
      t.same((await client.count(2)).attempts, [
        [0, i],
        [1, i],
      ])
      await scene.stop(client)
    }
    await sleep(1_300)
    t.equal(await scene.parkedCount(), 0)
  },
}

/** A count that a rule reaches with its own events, and that the bystander's events do not reach before. */
const many = 400
const early = 100
const unreachable = 1_000_000

/** Returns whether `numbers` are the events from one that is not after `first`, up to `last`. */
function isRunTo(last: number, first: number, numbers: readonly number[]): boolean {
  const [start = last + 1] = numbers
  return start <= first && numbers.join() === Array.from({ length: last + 1 - start }, (_, n) => start + n).join()
}

/**
 * Acknowledges a few events, which are not enough for a checkpoint unless other events have counted towards it too. Then acknowledges the
 * rest, which are enough, even if such a checkpoint was written.
 */
async function coversWhenCounted(t: Test, scene: GroupScene, waitMs: number): Promise<void> {
  const client = await scene.consume(early + many)
  const ackRange = (from: number, to: number) =>
    client.ack(...Array.from({ length: to - from }, (_, index) => from + index))
  await client.count(early)
  await ackRange(0, early)
  await sleep(waitMs)
  const covered = await scene.covered()
  const others = await scene.othersAfter((await scene.ownEvents()).at(-1)!.position)
  t.ok(covered === undefined || early + others >= many, `${covered} are covered after ${others} other events`)
  await client.count(early + many)
  await ackRange(early, early + many)
  await until(async () => ((await scene.covered()) ?? 0) >= many)
  t.ok(((await scene.covered()) ?? 0) >= many)
}

/** These rules hold with any traffic. Events that do not match count towards a checkpoint too. */
export const checkpointRules: Rules = {
  'the checkpoint stays before the lowest unacknowledged event': async (t, scene) => {
    await scene.putAndCreate(5, each)
    const client = await scene.consume()
    await client.count(5)
    await client.ack(1, 2)
    await sleep(1_300)
    t.equal((await scene.covered()) ?? 0, 0)
    await client.ack(0)
    t.equal(await scene.untilCovered(3), 3)
    await client.ack(4)
    await sleep(1_300)
    t.equal(await scene.covered(), 3)
    await client.ack(3)
    t.equal(await scene.untilCovered(5), 5)
  },

  'after a load every event after the checkpoint is redelivered, acknowledged or not, with retryCount 0': async (
    t,
    scene,
  ) => {
    await scene.putAndCreate(6, each)
    const one = await scene.consume()
    await one.count(6)
    await one.ack(0, 1, 3, 4)
    t.equal(await scene.untilCovered(2), 2)
    await scene.update(each)
    const two = await scene.consume()
    await until(() => two.numbers.includes(5))
    await two.quiet()
    // EventStoreDB drops a checkpoint that is due during the write of the previous one, so the stored one may be earlier.
    t.ok(isRunTo(5, 2, two.numbers), `${two.numbers}`)
    t.ok(two.deliveries.every(({ retryCount }) => retryCount === 0))
  },

  'the checkpoint is written immediately when the maximum is reached, not before': async (t, scene) => {
    await scene.putAndCreate(early + many, { minCheckpointCount: unreachable, maxCheckpointCount: many })
    await coversWhenCounted(t, scene, 1_300)
  },

  'the checkpoint is written on the tick after the minimum is reached, never before': async (t, scene) => {
    const counts = { minCheckpointCount: many, maxCheckpointCount: unreachable, checkpointAfterMs: 500 }
    await scene.putAndCreate(early + many, counts)
    await coversWhenCounted(t, scene, 2_300)
  },

  'the first checkpoint does not wait for checkpointAfterMs, the second does': async (t, scene) => {
    await scene.putAndCreate(4, {
      minCheckpointCount: 1,
      maxCheckpointCount: unreachable,
      checkpointAfterMs: 60_000,
    })
    const client = await scene.consume()
    await client.count(4)
    await client.ack(0)
    const checkpoint = async () => (await scene.groups.info(scene.group)).checkpoint
    await until(async () => (await checkpoint()) !== undefined)
    const first = await checkpoint()
    t.ok(first)
    await client.ack(1)
    await sleep(2_300)
    t.same(await checkpoint(), first)
  },

  'with checkpointAfterMs 0 only the maximum counts': async (t, scene) => {
    await scene.putAndCreate(early + many, { minCheckpointCount: 1, maxCheckpointCount: many, checkpointAfterMs: 0 })
    await coversWhenCounted(t, scene, 2_300)
  },

  'skipped and parked events count as processed': async (t, scene) => {
    await scene.putAndCreate(3, each)
    const client = await scene.consume()
    await client.count(3)
    await client.nack('skip', 0)
    t.equal(await scene.untilCovered(1), 1)
    await client.nack('park', 1)
    t.equal(await scene.untilCovered(2), 2)
  },

  'the checkpoint stays before an event that is retried': async (t, scene) => {
    await scene.putAndCreate(3, each)
    const client = await scene.consume()
    await client.count(3)
    await client.nack('retry', 0)
    await client.count(4)
    await client.ack(1, 2)
    await sleep(1_300)
    t.equal((await scene.covered()) ?? 0, 0)
    await client.ack(3)
    t.equal(await scene.untilCovered(3), 3)
  },

  'the checkpoint stays before an event that waits for another consumer': async (t, scene) => {
    await scene.putAndCreate(3, each)
    const one = await scene.consume()
    await one.count(3)
    await one.ack(1, 2)
    await scene.untilInFlight(1)
    await scene.stop(one)
    await sleep(1_500)
    t.equal((await scene.covered()) ?? 0, 0)
    const two = await scene.consume(10, acking)
    t.same((await two.count(1)).attempts, [[0, 1]])
    t.equal(await scene.untilCovered(3), 3)
  },

  'after a load the next event is delivered': async (t, scene) => {
    await scene.putAndCreate(5, each)
    const one = await scene.consume(10, acking)
    await one.count(5)
    t.equal(await scene.untilCovered(5), 5)
    await scene.update({ ...each, maxRetryCount: 2 })
    await until(() => one.error !== undefined)
    await scene.put(2)
    const two = await scene.consume(10, acking)
    await until(() => two.numbers.includes(6))
    await two.quiet()
    // As above, the stored checkpoint of EventStoreDB may be earlier.
    t.ok(isRunTo(6, 5, two.numbers), `${two.numbers}`)
    t.ok(two.deliveries.every(({ retryCount }) => retryCount === 0))
    t.equal(await scene.untilCovered(7), 7)
  },

  'the checkpoint advances over events that do not match, but not over an unacknowledged one': async (t, scene) => {
    await scene.create({ minCheckpointCount: 1, maxCheckpointCount: 5, checkpointAfterMs: 500, startFrom: 'end' })
    const client = await scene.consume()
    const checkpoint = async () => (await scene.groups.info(scene.group)).checkpoint?.commit ?? 0n
    const end = (await scene.putOthers(20)).commit
    await until(async () => (await checkpoint()) >= end)
    t.ok((await checkpoint()) >= end)
    await scene.put(1)
    await client.count(1)
    const later = (await scene.putOthers(20)).commit
    await sleep(2_500)
    t.ok((await checkpoint()) < client.deliveries[0]!.event.position.commit)
    await client.ack(0)
    await until(async () => (await checkpoint()) >= later)
    t.ok((await checkpoint()) >= later)
  },
}

export const checkpointOurs: Rules = {
  'after a load only events after the checkpoint are delivered': async (t, scene) => {
    await scene.putAndCreate(6, each)
    const one = await scene.consume()
    await one.count(6)
    await one.ack(0, 1, 3, 4)
    t.equal(await scene.untilCovered(2), 2)
    await scene.update(each)
    t.same((await (await (await scene.consume()).count(4)).quiet()).numbers, [2, 3, 4, 5])
  },

  'the checkpoint does not pass events that wait in the buffer': async (t, scene) => {
    await scene.create({ minCheckpointCount: 1, maxCheckpointCount: 5, checkpointAfterMs: 500, startFrom: 'end' })
    const one = await scene.consume(1)
    await scene.put(3)
    await scene.putOthers(50)
    await one.count(1)
    await one.ack(0)
    await one.count(2)
    await one.consumer.close()
    await sleep(2_500)
    t.ok(((await scene.covered()) ?? 0) <= 1)
    await scene.update({ maxRetryCount: 3 })
    const two = await scene.consume()
    t.same((await two.count(2)).numbers.slice(-2), [1, 2])
  },

  'a checkpoint that is due during a write is written afterwards': async (t, scene) => {
    await scene.putAndCreate(50, { ...each, checkpointAfterMs: 0 })
    const client = await scene.consume(50)
    await client.count(50)
    for (let i = 0; i < 50; i += 1) void client.ack(i)
    t.equal(await scene.untilCovered(50), 50)
    await scene.update(each)
    t.same((await (await scene.consume()).quiet()).numbers, [])
  },

  'a checkpoint does not cause another one': async (t, scene) => {
    await scene.create({ ...each, checkpointAfterMs: 500, startFrom: 'end' })
    await scene.consume(10, acking)
    const start = await scene.putOthers(3)
    const written = async () => {
      const [last] = await scene.store.readStream(`$persistentsubscription-$all::${scene.group}-checkpoint`, {
        direction: 'backwards',
        maxCount: 1,
      })
      return last ? last.revision + 1 : 0
    }
    await until(async () => (await written()) > 0)
    await sleep(3_000)
    const [count, others] = [await written(), await scene.othersAfter(start)]
    t.ok(count <= 3 + others, `${count} checkpoints after ${3 + others} events`)
  },
}
