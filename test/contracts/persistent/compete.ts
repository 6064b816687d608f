import { acking, type Rules, sleep, type TestConsumer, until } from '@transferd/event-log/test/support/group-scene'

const total = (clients: readonly TestConsumer[]) => clients.reduce((sum, client) => sum + client.deliveries.length, 0)
const allOf = (count: number, ...clients: TestConsumer[]) => until(() => total(clients) >= count)
const ascending = (list: readonly number[]) => list.every((n, i) => i === 0 || n > list[i - 1]!)

/** Returns which consumers received events of which stream, from the given delivery of each on. */
function owners(clients: readonly TestConsumer[], from: readonly number[] = []): Set<number>[] {
  const map = new Map<string, Set<number>>()
  clients.forEach((client, index) => {
    for (const { event } of client.deliveries.slice(from[index] ?? 0)) {
      map.set(event.stream, (map.get(event.stream) ?? new Set()).add(index))
    }
  })
  return [...map.values()]
}

const hasOne = (set: Set<number>) => set.size === 1
const over = (streams: number) => (n: number) => `${n % streams}`

export const competeRules: Rules = {
  'RoundRobin: two consumers alternate': async (t, scene) => {
    await scene.create()
    const one = await scene.consume()
    const two = await scene.consume()
    await scene.put(16)
    await allOf(16, one, two)
    t.same(one.numbers, [0, 2, 4, 6, 8, 10, 12, 14])
    t.same(two.numbers, [1, 3, 5, 7, 9, 11, 13, 15])
  },

  'RoundRobin: three consumers receive the same number of events, in order': async (t, scene) => {
    await scene.create()
    const clients = [await scene.consume(), await scene.consume(), await scene.consume()]
    await scene.put(24)
    await allOf(24, ...clients)
    t.same(
      clients.map((client) => client.deliveries.length),
      [8, 8, 8],
    )
    t.ok(clients.every((client) => ascending(client.numbers)))
  },

  'RoundRobin: skips a full consumer': async (t, scene) => {
    await scene.create()
    const slow = await scene.consume(3)
    const fast = await scene.consume(10, acking)
    await scene.put(30)
    await allOf(30, slow, fast)
    t.same([slow.deliveries.length, fast.deliveries.length], [3, 27])
    t.ok(ascending(fast.numbers))
  },

  'RoundRobin: a late consumer receives only new events': async (t, scene) => {
    await scene.put(30)
    await scene.create()
    const one = await scene.consume(8)
    await one.count(8)
    const two = await scene.consume(4)
    await (await two.count(4)).quiet()
    t.same(one.numbers, [0, 1, 2, 3, 4, 5, 6, 7])
    t.same(two.numbers, [8, 9, 10, 11])
  },

  'RoundRobin: each has at most its own buffer, and no event is delivered twice': async (t, scene) => {
    await scene.putInOneAppend(60)
    await scene.create()
    const clients = [await scene.consume(2), await scene.consume(5), await scene.consume(9)]
    await allOf(16, ...clients)
    await sleep(200)
    t.same(
      clients.map((client) => client.deliveries.length),
      [2, 5, 9],
    )
    t.equal(new Set(clients.flatMap((client) => client.numbers)).size, 16)
    t.equal(await scene.inFlight(), 16)
  },

  'RoundRobin: the others share the events of a consumer that leaves': async (t, scene) => {
    await scene.create()
    const clients = [await scene.consume(), await scene.consume(), await scene.consume()]
    await scene.put(9)
    await allOf(9, ...clients)
    await clients[0]!.ack(0)
    await scene.untilInFlight(8)
    await scene.stop(clients[0]!)
    await allOf(11, ...clients)
    t.same(
      clients.slice(1).map((client) => client.deliveries.length),
      [4, 4],
    )
    const again = clients.slice(1).flatMap((client) => client.attempts.slice(3))
    t.same(
      again.sort((a, b) => a[0] - b[0]),
      clients[0]!.numbers.slice(1).map((n) => [n, 1]),
    )
  },

  'RoundRobin: the next consumer receives a retry': async (t, scene) => {
    await scene.create()
    const one = await scene.consume()
    const two = await scene.consume()
    await scene.put(1)
    await one.count(1)
    await one.nack('retry', 0)
    await two.count(1)
    t.same([one.attempts, two.attempts], [[[0, 0]], [[0, 1]]])
  },

  'DispatchToSingle: one consumer receives all events until it is full': async (t, scene) => {
    await scene.create({ consumerStrategy: 'DispatchToSingle' })
    const one = await scene.consume()
    const two = await scene.consume()
    await scene.put(14)
    await allOf(14, one, two)
    t.same(one.numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    t.same(two.numbers, [10, 11, 12, 13])
  },

  'DispatchToSingle: stays at the second consumer after the first was full': async (t, scene) => {
    await scene.create({ consumerStrategy: 'DispatchToSingle' })
    const one = await scene.consume(2)
    const two = await scene.consume(5)
    await scene.put(3)
    await allOf(3, one, two)
    await one.ackAll()
    await scene.untilInFlight(1)
    await scene.put(2)
    await allOf(5, one, two)
    t.same(
      [one.numbers, two.numbers],
      [
        [0, 1],
        [2, 3, 4],
      ],
    )
  },

  'DispatchToSingle: a consumer that acknowledges in time receives all events': async (t, scene) => {
    await scene.create({ consumerStrategy: 'DispatchToSingle' })
    const one = await scene.consume(10, acking)
    const two = await scene.consume(10, acking)
    for (let i = 0; i < 20; i += 1) {
      await scene.put(1)
      await allOf(i + 1, one, two)
      await scene.untilInFlight(0)
    }
    t.same([one.deliveries.length, two.deliveries.length], [20, 0])
  },

  'DispatchToSingle: when the first leaves, the second continues': async (t, scene) => {
    await scene.create({ consumerStrategy: 'DispatchToSingle' })
    const one = await scene.consume()
    const two = await scene.consume()
    await scene.put(4)
    await one.count(4)
    await one.ack(1)
    await scene.untilInFlight(3)
    await scene.stop(one)
    t.same((await two.count(3)).attempts, [
      [0, 1],
      [2, 1],
      [3, 1],
    ])
    await scene.put(1)
    t.same((await two.count(4)).numbers, [0, 2, 3, 4])
  },

  'Pinned: one consumer receives all events of a stream': async (t, scene) => {
    await scene.create({ consumerStrategy: 'Pinned' })
    const clients = [await scene.consume(20), await scene.consume(20)]
    await scene.put(12)
    await allOf(12, ...clients)
    t.same(clients.map((client) => client.deliveries.length).sort(), [0, 12])
  },

  'Pinned: streams are distributed, each to one consumer and in order': async (t, scene) => {
    await scene.create({ consumerStrategy: 'Pinned' })
    const clients = [await scene.consume(100), await scene.consume(100)]
    await scene.put(60, over(12))
    await allOf(60, ...clients)
    t.equal(total(clients), 60)
    t.ok(owners(clients).every(hasOne))
    t.ok(clients.every((client) => client.deliveries.length > 0))
    t.ok(clients.every((client) => ascending(client.numbers)))
  },

  'Pinned: a full consumer delays only its own streams': async (t, scene) => {
    await scene.create({ consumerStrategy: 'Pinned' })
    const slow = await scene.consume(2)
    const fast = await scene.consume(100, acking)
    await scene.put(48, over(12))
    await sleep(700)
    t.equal(slow.deliveries.length, 2)
    t.ok(fast.deliveries.length > 0 && fast.deliveries.length < 46)
    t.ok(owners([slow, fast]).every(hasOne))
    slow.onDelivery = acking
    await slow.ackAll()
    await allOf(48, slow, fast)
    t.equal(total([slow, fast]), 48)
    t.ok(owners([slow, fast]).every(hasOne))
  },

  'Pinned: the streams of a consumer that leaves move, its unacknowledged events by position': async (t, scene) => {
    await scene.create({ consumerStrategy: 'Pinned' })
    const one = await scene.consume(100)
    const two = await scene.consume(100)
    await scene.put(24, over(8))
    await allOf(24, one, two)
    const had = two.deliveries.length
    await scene.stop(one)
    await (await two.count(24)).quiet()
    t.same(
      two.attempts.slice(had),
      one.numbers.map((n) => [n, 1]),
    )
  },

  'Pinned: a new consumer takes over some streams': async (t, scene) => {
    await scene.create({ consumerStrategy: 'Pinned' })
    const one = await scene.consume(200, acking)
    await scene.put(32, over(16))
    await one.count(32)
    await scene.untilInFlight(0)
    const two = await scene.consume(200, acking)
    await scene.put(48, over(16))
    await allOf(80, one, two)
    t.ok(one.deliveries.length > 32)
    t.ok(two.deliveries.length > 0)
    t.ok(owners([one, two], [32, 0]).every(hasOne))
  },
}
