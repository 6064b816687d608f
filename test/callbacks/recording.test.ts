import { randomUUID } from 'node:crypto'
import t from 'tap'
import { CallbackMemory } from '../../src/callbacks/callback-memory.js'
import { CallbackRecorder, callbackGroup } from '../../src/callbacks/record/callback-recorder.js'
import { transferStream } from '../../src/domain/streams.js'
import {
  type EventStore,
  type Page,
  type PersistentConsumer,
  type PersistentDelivery,
  PersistentSubscriptionMissingError,
  StoreUnavailableError,
} from '../../src/event-store/event-store.js'
import { withdrawalRequest } from '../domain/transfer-samples.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { context, openWorld, type World } from './world.js'

/** Returns the store with changed deliveries of persistent subscriptions. */
function withDeliveries(
  change: (deliveries: AsyncIterable<PersistentDelivery>) => AsyncIterable<PersistentDelivery>,
): (store: EventStore) => EventStore {
  return (store) => {
    const groups = store.persistentSubscriptions
    const consume: typeof groups.consume = async (group, options) => {
      const consumer = await groups.consume(group, options)
      const changed: PersistentConsumer = {
        ack: (...ids) => consumer.ack(...ids),
        nack: (action, reason, ...ids) => consumer.nack(action, reason, ...ids),
        [Symbol.asyncDispose]: () => consumer.close(),
        close: () => consumer.close(),
        [Symbol.asyncIterator]: () => change(consumer)[Symbol.asyncIterator](),
      }
      return changed
    }
    return withGroups(store, {
      create: (group, settings) => groups.create(group, settings),
      consume,
    })
  }
}

function withGroups(store: EventStore, changes: Partial<EventStore['persistentSubscriptions']>): EventStore {
  const groups = store.persistentSubscriptions
  const bound: EventStore['persistentSubscriptions'] = {
    create: (...args) => groups.create(...args),
    update: (...args) => groups.update(...args),
    delete: (...args) => groups.delete(...args),
    info: (...args) => groups.info(...args),
    consume: (...args) => groups.consume(...args),
    listParked: (...args) => groups.listParked(...args),
    replayParked: (...args) => groups.replayParked(...args),
    ...changes,
  }
  return { ...store, persistentSubscriptions: bound }
}

async function* deliverTwice(deliveries: AsyncIterable<PersistentDelivery>) {
  for await (const delivery of deliveries) {
    yield delivery
    yield { ...delivery, retryCount: 1 }
  }
}

async function twoChanges(world: World, merchantId: string): Promise<string> {
  const trackingId = await world.deposit(merchantId)
  await world.transfers.act(trackingId, { type: 'SendToManualControl', message: 'review' }, context)
  await world.transfers.act(trackingId, { type: 'Complete', transactionAmountMinor: 90_00n }, context)
  return trackingId
}

async function recordedRevisions(world: World, trackingId: string): Promise<unknown[]> {
  const events = await world.deliveryLog(trackingId)
  return events.filter(({ type }) => type === 'CallbackRecorded').map(({ data }) => data.transferRevision)
}

t.test('records each change once, although the group delivers it twice and the sweep runs concurrently', async (t) => {
  const world = await openWorld(t, { wrapStore: withDeliveries(deliverTwice) })
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingIds = await Promise.all(Array.from({ length: 40 }, () => twoChanges(world, id)))
  await until(() => receiver.received.length >= 80)
  await until(async () => {
    const lanes = await Promise.all(trackingIds.map((trackingId) => world.callbacks.lane(trackingId)))
    return lanes.every(({ deliveries }) => deliveries.every(({ status }) => status === 'delivered'))
  })
  for (const trackingId of trackingIds) t.strictSame(await recordedRevisions(world, trackingId), [1, 2])
  t.equal(receiver.received.length, 80)
  t.equal(new Set(receiver.received.map(({ webhookId }) => webhookId)).size, 80)
})

t.test('claims and releases trigger no callback', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id: merchantId } = await world.merchant(receiver.url)
  world.start()
  const created = await world.transfers.create({ ...withdrawalRequest, merchantId }, context)
  if (!created.accepted) throw new Error('the create was rejected')
  const { trackingId } = created.transfer
  await world.transfers.act(trackingId, { type: 'Claim' }, context)
  await world.transfers.act(trackingId, { type: 'Release' }, context)
  await world.transfers.act(trackingId, { type: 'Claim' }, context)
  await world.transfers.act(trackingId, { type: 'Complete' }, context)
  await until(() => receiver.received.length > 0)
  await until(async () =>
    (await world.callbacks.lane(trackingId)).deliveries.every((each) => each.status === 'delivered'),
  )
  t.strictSame(await recordedRevisions(world, trackingId), [4])
  t.equal(receiver.received.length, 1)
})

t.test('records both changes with their own state if the later one is delivered first', async (t) => {
  const delayed: PersistentDelivery[] = []
  const deliverLastFirst = async function* (deliveries: AsyncIterable<PersistentDelivery>) {
    for await (const delivery of deliveries) {
      delayed.unshift(delivery)
      if (delivery.event.revision === 2) yield* delayed.splice(0)
    }
  }
  const world = await openWorld(t, { wrapStore: withDeliveries(deliverLastFirst), timing: { sweepDelayMs: 60_000 } })
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await twoChanges(world, id)
  await until(() => receiver.received.length === 2)
  t.strictSame(await recordedRevisions(world, trackingId), [1, 2])
  t.match(receiver.received[0]!.body, { Status: 3, Message: 'review', TransactionAmount: 0, HasAmountMismatch: false })
  t.match(receiver.received[1]!.body, { Status: 2, Message: null, TransactionAmount: 90, HasAmountMismatch: true })
})

t.test('the sweep records what the subscription misses, and continues from its checkpoint', async (t) => {
  const world = await openWorld(t, {
    wrapStore: (store) =>
      withGroups(store, {
        consume: async (group) => {
          throw new PersistentSubscriptionMissingError(group)
        },
        create: async () => {
          throw new StoreUnavailableError('groups are unavailable')
        },
      }),
  })
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const before = await twoChanges(world, id)
  const part = world.start()
  const during = await twoChanges(world, id)
  await until(() => receiver.received.length === 4)
  t.strictSame(await recordedRevisions(world, before), [1, 2])
  t.strictSame(await recordedRevisions(world, during), [1, 2])
  t.equal(world.counts.records.subscription, 0)
  t.ok(world.counts.records.sweep >= 4)
  await part.stop()
  const checkpoints = await world.store.readStream('callbacks-sweep')
  t.ok(checkpoints.length >= 1 && checkpoints.length <= 3, `${checkpoints.length} checkpoints`)

  const reads: unknown[] = []
  const { readAll } = world.store
  const watched: EventStore = {
    ...world.store,
    readAll: (options) => {
      reads.push(options.after)
      return readAll(options)
    },
  }
  world.start({ store: watched })
  await until(() => reads.length > 0)
  t.ok(reads[0], 'a restarted sweep continues from its checkpoint')
})

t.test('the sweep ignores an unreadable checkpoint and reads everything again', async (t) => {
  const world = await openWorld(t, {
    wrapStore: (store) =>
      withGroups(store, {
        consume: async (group) => {
          throw new PersistentSubscriptionMissingError(group)
        },
      }),
  })
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const metadata = { actor: 'system:callbacks', schemaVersion: 1 }
  const data = { position: '8231004', at: '2026-03-01T09:00:00.000Z' }
  await world.store.append('callbacks-sweep', 'no_stream', [
    { id: randomUUID(), type: 'CallbackSweepAdvanced', data, metadata },
  ])
  const trackingId = await twoChanges(world, id)
  const part = world.start()
  await until(() => receiver.received.length === 2)
  t.strictSame(await recordedRevisions(world, trackingId), [1, 2])
  await part.stop()
  const checkpoints = (await world.store.readStream('callbacks-sweep')).at(-1)
  t.match(checkpoints, {
    metadata: { schemaVersion: 1 },
    data: { event: { stream: `transfer-${trackingId}`, revision: 2 } },
  })
})

t.test('creates a deleted group again and misses nothing', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  world.start()
  await world.completed(id)
  await until(() => receiver.received.length === 1)
  await world.store.persistentSubscriptions.delete(callbackGroup)
  const trackingIds = await Promise.all(Array.from({ length: 20 }, () => world.completed(id)))
  await until(() => receiver.received.length === 21)
  await until(() =>
    world.store.persistentSubscriptions.info(callbackGroup).then(
      ({ consumers }) => consumers === 1,
      () => false,
    ),
  )
  for (const trackingId of trackingIds) t.strictSame(await recordedRevisions(world, trackingId), [1])
})

t.test('acknowledges any number of creations and records nothing', async (t) => {
  const world = await openWorld(t)
  const { id } = await world.merchant('http://127.0.0.1:9/')
  world.start()
  const trackingIds: string[] = []
  for (let round = 0; round < 10; round++)
    trackingIds.push(...(await Promise.all(Array.from({ length: 200 }, () => world.deposit(id)))))
  await until(async () => {
    const info = await world.store.persistentSubscriptions.info(callbackGroup).catch(() => undefined)
    return info !== undefined && info.inFlight === 0 && info.checkpoint !== undefined
  })
  t.equal((await world.deliveryLog(trackingIds[0]!)).length, 0)
  t.equal(world.counts.records.subscription + world.counts.records.sweep, 0)
})

t.test('parks an unreadable event, which blocks no other transfer', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  world.start()
  const broken = await world.deposit(id)
  const metadata = { actor: 'test', schemaVersion: 99 }
  const event = { id: '00000000-0000-4000-8000-0000000000aa', type: 'TransferFailed', data: {}, metadata }
  await world.store.append(`transfer-${broken}`, 0, [event])
  await world.completed(id)
  await until(() => receiver.received.length === 1)
  await until(async () => (await world.store.persistentSubscriptions.info(callbackGroup)).parkedCount === 1)
  const [parked] = await world.store.persistentSubscriptions.listParked(callbackGroup, { maxCount: 10 })
  t.match(parked, { stream: `transfer-${broken}`, revision: 1 })
  t.match(parked?.reason, 'unreadable event')
})

t.test('memory decides on sending only with a lane that contains every followed event and every report', async (t) => {
  const world = await openWorld(t, { project: false })
  const { id } = await world.merchant('http://127.0.0.1:9/')
  const trackingId = await world.completed(id)
  const [, change] = await world.store.readStream(transferStream(trackingId))
  const statusIn = (memory: CallbackMemory) => memory.laneToSend(trackingId)?.state.deliveries[0]?.status
  const memory = new CallbackMemory(change!.position)
  await new CallbackRecorder(world.store, world.callbacks, memory).recordUpTo(change!, { isNew: true })
  t.equal(statusIn(memory), undefined, 'an earlier process may have recorded and delivered it')

  memory.take({ events: await world.deliveryLog(trackingId), atEnd: true })
  t.equal(statusIn(memory), 'waiting')
  const recorded = await world.callbacks.load(trackingId)
  const outcome = { result: 'delivered' } as const
  const report = { attempt: 1, httpStatus: 200, durationMs: 1, outcome }
  await memory.append(trackingId, async (newest) => {
    const result = await world.callbacks.reportAttempt(trackingId, change!.id, report, context, newest)
    if (!result.accepted) throw new Error(result.refusal.rule)
    memory.keep(trackingId, { ...recorded, ...result })
    return result
  })
  t.equal(statusIn(memory), 'delivered', 'before the report is followed')
  memory.keep(trackingId, recorded)
  t.equal(statusIn(memory), 'delivered', 'an older read changes nothing')

  await world.callbacks.requeue(trackingId, 'latest', context)
  memory.take({ events: await world.deliveryLog(trackingId), atEnd: true })
  t.equal(statusIn(memory), 'waiting', 'another process has requeued it')

  const restarted = new CallbackMemory(change!.position)
  restarted.take({ events: (await world.deliveryLog(trackingId)).slice(-1), atEnd: true })
  restarted.keep(trackingId, recorded)
  t.equal(statusIn(restarted), undefined, 'a read that ended late lacks a followed event')
})

t.test('one reading of the log serves the recording, the sweep and the delivery, and no stream is read', async (t) => {
  const seen = { followed: new Map<string, number>(), streams: [] as string[] }
  let delivered = 0
  const count = (page: Page) => {
    for (const { id } of page.events) seen.followed.set(id, (seen.followed.get(id) ?? 0) + 1)
    return page
  }
  const counted = (store: EventStore): EventStore => ({
    ...store,
    async *subscribeToAll(options) {
      for await (const page of store.subscribeToAll(options)) yield count(page)
    },
    readAll: async (options) => count(await store.readAll(options)),
    readStream(stream, options) {
      if (/^(transfer|callback)-/.test(stream)) seen.streams.push(stream)
      return store.readStream(stream, options)
    },
  })
  const countDeliveries = async function* (deliveries: AsyncIterable<PersistentDelivery>) {
    for await (const delivery of deliveries) {
      delivered++
      yield delivery
    }
  }
  const world = await openWorld(t, {
    wrapStore: (store) => counted(withDeliveries(countDeliveries)(store)),
    ...{ project: false, timing: { sweepDelayMs: 3_000 } },
  })
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url, { callbackOnCreate: true })
  const part = world.start()
  await world.completed(id)
  await until(() => receiver.received.length === 2)
  // Until it follows the end of the log, the sweep reads some events too.
  seen.followed.clear()
  seen.streams.length = 0
  delivered = 0
  // More events than the followers of the log share.
  const transfers = 500
  const trackingIds = await Promise.all(Array.from({ length: transfers }, () => world.completed(id)))
  await until(() => receiver.received.length === 2 + 2 * transfers)
  const outcomes = async () => {
    const lanes = await Promise.all(trackingIds.map((trackingId) => world.deliveryLog(trackingId)))
    return lanes.flat().filter(({ type }) => type === 'CallbackDelivered')
  }
  await until(async () => (await outcomes()).length === 2 * transfers)
  // The sweep has recorded the first events, so it has reached the others.
  await until(async () => (await world.store.readStream('callbacks-sweep')).length > 0)
  await part.stop()
  t.equal(delivered, 2 * transfers, 'the subscription is the trigger')
  t.ok(seen.followed.size >= 2 * transfers)
  t.strictSame([...new Set(seen.followed.values())], [1], 'each event is followed once')
  // The sweep may read the first transfer, which began before it followed the log.
  const ids = new Set(trackingIds)
  const ofOthers = seen.streams.filter((stream) => ids.has(stream.slice(stream.indexOf('-') + 1)))
  t.strictSame(ofOthers, [], 'no stream of a transfer or lane is read')
  t.strictSame(world.counts.records, { subscription: 2 + 2 * transfers, sweep: 0 })
})
