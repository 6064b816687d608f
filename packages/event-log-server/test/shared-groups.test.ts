import { randomUUID } from 'node:crypto'
import {
  type PersistentSubscriptionToAll,
  persistentSubscriptionToAllSettingsFromDefaults,
  START,
} from '@eventstore/db-client'
import { defaultPersistentSubscriptionSettings, type EventLog, openEventLog } from '@transferd/event-log'
import { acking, TestConsumer, until } from '@transferd/event-log/test/support/group-scene'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t, { type Test } from 'tap'
import { serve } from './support/server-fixture.js'

const waitMs = 60_000
const ofService = { ...defaultPersistentSubscriptionSettings, streamPrefixes: ['transfer-'] }
const ofClient = persistentSubscriptionToAllSettingsFromDefaults({ startFrom: START })
const transfers = { filter: { filterOn: 'streamName' as const, prefixes: ['transfer-'], checkpointInterval: 1 } }

async function put(store: EventLog, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const event = { id: randomUUID(), type: 'T', data: { n }, metadata: {} }
    await store.append(`transfer-${randomUUID()}`, 'no_stream', [event])
  }
}

async function scene(t: Test) {
  const directory = tempDirectory(t)
  const service = await openEventLog({ directory })
  const server = await serve({ directory })
  t.teardown(async () => {
    await server.stop()
    await service.close()
  })
  return { service, groups: service.persistentSubscriptions, ...server }
}

/** Collects the deliveries of a client's subscription and its error. */
function watch(subscription: PersistentSubscriptionToAll) {
  const received = {
    numbers: [] as unknown[],
    attempts: [] as number[],
    error: undefined as { type?: string } | undefined,
  }
  subscription.on('data', (delivery) => {
    received.numbers.push((delivery.event?.data as { n?: unknown } | undefined)?.n)
    received.attempts.push(delivery.retryCount)
    void subscription.ack(delivery)
  })
  subscription.on('error', (error) => {
    received.error = error as { type?: string }
  })
  return received
}

t.test('clients of the protocol can use a group of the service', async (t) => {
  const { service, groups, client, faults } = await scene(t)
  await put(service, 3)
  await groups.create('callbacks', ofService)
  const info = await client.getPersistentSubscriptionToAllInfo('callbacks')
  t.match(info, { groupName: 'callbacks', eventSource: '$all', settings: { maxRetryCount: 10 } })
  t.strictSame(
    (await client.listAllPersistentSubscriptions()).map((group) => group.groupName),
    ['callbacks'],
  )
  await t.rejects(client.createPersistentSubscriptionToAll('callbacks', ofClient), {
    name: 'Error',
    type: 'persistent-subscription-exists',
  })

  const subscription = client.subscribeToPersistentSubscriptionToAll('callbacks')
  const received = watch(subscription)
  await until(() => received.numbers.length === 3, waitMs)
  t.strictSame(received.numbers, [0, 1, 2], 'without events of system streams')
  const { signal } = new AbortController()
  await t.rejects(groups.consume('callbacks', { bufferSize: 1, signal }), { name: 'GroupHeldElsewhereError' })
  await subscription.unsubscribe()
  // The server releases the group a few seconds after its last consumer has left.
  let consumer: TestConsumer | undefined
  await until(async () => {
    consumer = await groups.consume('callbacks', { bufferSize: 10, signal }).then(
      (one) => new TestConsumer(one),
      () => undefined,
    )
    return consumer !== undefined
  }, waitMs)
  await put(service, 1)
  await consumer?.count(1, waitMs)
  t.strictSame(consumer?.attempts, [[0, 0]], 'it continues after the events that the client acknowledged')
  await consumer?.nack('park', 0)
  const parkedCount = async () =>
    (await client.getPersistentSubscriptionToAllInfo('callbacks')).stats.parkedMessageCount
  await until(async () => (await parkedCount()) === 1n, waitMs)
  t.equal(await parkedCount(), 1n)

  const rejected = watch(client.subscribeToPersistentSubscriptionToAll('callbacks'))
  await until(() => rejected.error !== undefined, waitMs)
  t.equal(rejected.error?.type, 'persistent-subscription-failed', 'no client can consume it while the service does')

  await client.replayParkedMessagesToAll('callbacks')
  await consumer?.count(2, waitMs)
  t.strictSame(consumer?.attempts[1], [0, 0], 'a client can replay the events that the service parked')
  await client.deletePersistentSubscriptionToAll('callbacks')
  await until(() => consumer?.error !== undefined, waitMs)
  t.equal(consumer?.error?.name, 'ConsumerDroppedError')
  await t.rejects(groups.info('callbacks'), { name: 'PersistentSubscriptionMissingError' })
  t.strictSame(faults, [])
})

t.test('the service sees the group of a client but cannot consume it', async (t) => {
  const { service, groups, client, faults } = await scene(t)
  await put(service, 2)
  await client.createPersistentSubscriptionToAll('readers', { ...ofClient, checkPointLowerBound: 1 }, transfers)
  await t.rejects(groups.create('readers', ofService), { name: 'PersistentSubscriptionExistsError' })
  const { signal } = new AbortController()
  await t.rejects(groups.consume('readers', { bufferSize: 1, signal }), { name: 'GroupHeldElsewhereError' })
  t.match((await groups.info('readers')).settings, { startFrom: 'start', streamPrefixes: ['transfer-'] })

  const subscription = client.subscribeToPersistentSubscriptionToAll('readers')
  const received = watch(subscription)
  await until(() => received.numbers.length === 2, waitMs)
  const events = (await service.readAll({ maxCount: 10 })).events
  const last = events.at(-1)?.position.commit ?? 0n
  await until(async () => ((await groups.info('readers')).checkpoint?.commit ?? 0n) >= last, waitMs)
  t.ok(((await groups.info('readers')).checkpoint?.commit ?? 0n) >= last, 'its checkpoint is a position of this log')

  await groups.update('readers', { ...ofService, maxRetryCount: 3 })
  await until(() => received.error !== undefined, waitMs)
  t.equal(received.error?.type, 'persistent-subscription-dropped')
  t.equal((await client.getPersistentSubscriptionToAllInfo('readers')).settings.maxRetryCount, 3)
  const second = watch(client.subscribeToPersistentSubscriptionToAll('readers'))
  await put(service, 1)
  await until(() => second.numbers.length === 1, waitMs)
  t.strictSame(second.numbers, [0])
  await groups.delete('readers')
  await until(() => second.error !== undefined, waitMs)
  t.equal(second.error?.type, 'persistent-subscription-dropped')
  t.strictSame(await client.listAllPersistentSubscriptions(), [])
  t.strictSame(faults, [])
})

t.test('a new group inherits nothing from a deleted group with the same name and a different creator', async (t) => {
  const { service, groups, client } = await scene(t)
  await put(service, 2)
  await groups.create('g', { ...ofService, minCheckpointCount: 1, maxCheckpointCount: 1 })
  const { signal } = new AbortController()
  const first = new TestConsumer(await groups.consume('g', { bufferSize: 10, signal }))
  await first.count(2, waitMs)
  await first.nack('park', 0)
  await first.ack(1)
  await until(async () => (await groups.info('g')).parkedCount === 1, waitMs)
  await client.deletePersistentSubscriptionToAll('g')
  await client.createPersistentSubscriptionToAll('g', ofClient, transfers)
  t.equal((await client.getPersistentSubscriptionToAllInfo('g')).stats.parkedMessageCount, 0n)
  const subscription = client.subscribeToPersistentSubscriptionToAll('g')
  const received = watch(subscription)
  await until(() => received.numbers.length === 2, waitMs)
  t.strictSame(received.numbers, [0, 1])
  await client.deletePersistentSubscriptionToAll('g')
  await groups.create('g', ofService)
  t.match(await groups.info('g'), { parkedCount: 0, checkpoint: undefined })
  const last = new TestConsumer(await groups.consume('g', { bufferSize: 10, signal }), acking)
  await last.count(2, waitMs)
  t.strictSame(last.attempts, [
    [0, 0],
    [1, 0],
  ])
})
