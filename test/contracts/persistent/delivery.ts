import { randomUUID } from 'node:crypto'
import { acking, type Rules, until } from '@transferd/event-log/test/support/group-scene'
import { MaximumSubscribersReachedError } from '../../../src/event-store/event-store.js'

const range = (count: number, from = 0) => Array.from({ length: count }, (_, i) => i + from)

export const deliveryRules: Rules = {
  'from the start every event is delivered in order, once, with retryCount 0': async (t, scene) => {
    await scene.put(45)
    await scene.create()
    const client = await scene.consume(10, acking)
    await (await client.count(45)).quiet()
    t.same(
      client.attempts,
      range(45).map((n) => [n, 0]),
    )
    t.same(
      client.deliveries.map((d) => d.event.revision),
      range(45),
    )
  },

  'from the end every event since the creation is delivered, with or without a consumer': async (t, scene) => {
    await scene.put(3)
    await scene.create({ startFrom: 'end' })
    await scene.put(2)
    const client = await scene.consume()
    t.same((await client.count(2)).numbers, [3, 4])
    await scene.put(1)
    t.same((await client.count(3)).numbers, [3, 4, 5])
  },

  'a position to start from is inclusive': async (t, scene) => {
    await scene.put(3)
    const [, second] = await scene.store.readStream(`${scene.prefix}a`)
    await scene.create({ startFrom: second!.position })
    const client = await scene.consume()
    t.same((await (await client.count(2)).quiet()).numbers, [1, 2])
  },

  'delivers only streams with the prefixes, existing and live events': async (t, scene) => {
    const other = `o${randomUUID()}-`
    await scene.put(2)
    await scene.putTo(`x${scene.prefix}`)
    await scene.putTo(`${other}1`)
    await scene.create({ streamPrefixes: [scene.prefix, other] })
    const client = await scene.consume(10, acking)
    t.same((await client.count(3)).numbers, [0, 1, 3])
    await scene.putTo(`x${scene.prefix}`)
    await scene.putTo(`${other}1`)
    await scene.put(1)
    t.same((await (await client.count(5)).quiet()).numbers, [0, 1, 3, 5, 6])
  },

  'a consumer has at most its buffer in flight; each ack frees a slot': async (t, scene) => {
    await scene.put(30)
    await scene.create()
    const client = await scene.consume(5)
    t.same((await (await client.count(5)).quiet()).numbers, range(5))
    t.equal(await scene.inFlight(), 5)
    await client.ack(1, 3)
    t.same((await (await client.count(7)).quiet()).numbers, range(7))
  },

  'a consumer with a buffer of 0 receives nothing, and the group continues': async (t, scene) => {
    await scene.put(3)
    await scene.create()
    const withoutBuffer = await scene.consume(0)
    t.same((await withoutBuffer.quiet()).numbers, [])
    await scene.stop(withoutBuffer)
    t.same((await (await scene.consume()).count(3)).numbers, range(3))
  },

  'a consumer can take more than the group buffers': async (t, scene) => {
    await scene.putInOneAppend(100)
    await scene.create({ historyBufferSize: 10, readBatchSize: 5, liveBufferSize: 10 })
    const client = await scene.consume(64, acking)
    t.same((await (await client.count(100)).quiet()).numbers, range(100))
  },

  'a burst over small buffers is delivered in order, once': async (t, scene) => {
    await scene.create({ historyBufferSize: 20, readBatchSize: 10, liveBufferSize: 10 })
    const client = await scene.consume(5)
    for (let i = 0; i < 15; i += 1) await scene.putInOneAppend(20)
    client.onDelivery = acking
    await client.ackAll()
    t.same((await (await client.count(300)).quiet()).numbers, range(300))
  },

  'one large append is delivered in order, once': async (t, scene) => {
    await scene.create()
    const client = await scene.consume(400, acking)
    await scene.putInOneAppend(400)
    t.same((await (await client.count(400)).quiet()).numbers, range(400))
  },

  'groups are independent': async (t, scene) => {
    await scene.put(4)
    await scene.create()
    await scene.create({}, `${scene.group}2`)
    const one = await scene.consume(10, acking)
    const two = await scene.consume(10, undefined, `${scene.group}2`)
    t.same((await one.count(4)).numbers, range(4))
    t.same((await two.count(4)).numbers, range(4))
    await scene.untilInFlight(0)
    t.equal((await scene.groups.info(`${scene.group}2`)).inFlight, 4)
    await scene.groups.delete(`${scene.group}2`)
  },

  'allows at most the maximum number of consumers; one that leaves makes room': async (t, scene) => {
    await scene.create({ maxSubscriberCount: 2 })
    const one = await scene.consume()
    const two = await scene.consume()
    await t.rejects(scene.consume(), { name: new MaximumSubscribersReachedError().name })
    t.same([one.error, two.error], [undefined, undefined])
    await scene.stop(two)
    await t.resolves(scene.consume())
  },

  'a closed consumer ends, and its later acks are ignored': async (t, scene) => {
    await scene.put(2)
    await scene.create()
    const client = await scene.consume()
    await client.count(2)
    await scene.stop(client)
    await until(() => client.ended)
    t.ok(client.ended)
    t.equal(await scene.inFlight(), 0)
    await t.resolves(client.ack(0))
  },

  'a consumer ends when its signal aborts': async (t, scene) => {
    await scene.create()
    const abort = new AbortController()
    const consumer = await scene.groups.consume(scene.group, { bufferSize: 1, signal: abort.signal })
    const next = consumer[Symbol.asyncIterator]().next()
    abort.abort()
    t.same(await next, { done: true, value: undefined })
    await until(async () => (await scene.groups.info(scene.group)).consumers === 0)
    t.equal((await scene.groups.info(scene.group)).consumers, 0)
  },

  'delivers two events with the same id in two streams': async (t, scene) => {
    const id = randomUUID()
    for (const stream of ['1', '2']) {
      await scene.store.append(`${scene.prefix}${stream}`, 'no_stream', [{ id, type: 'T', data: {}, metadata: {} }])
    }
    await scene.create()
    const client = await scene.consume()
    t.equal((await (await client.count(2)).quiet()).deliveries.length, 2)
  },
}

export const deliveryOurs: Rules = {
  'reading further does not wait for an ack': async (t, scene) => {
    await scene.putInOneAppend(100)
    await scene.create({ historyBufferSize: 10, readBatchSize: 5, liveBufferSize: 10 })
    const client = await scene.consume(64)
    t.same((await (await client.count(64)).quiet()).numbers, range(64))
  },
}
