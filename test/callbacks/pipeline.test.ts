import { randomUUID } from 'node:crypto'
import t from 'tap'
import {
  comparePositions,
  defaultPersistentSubscriptionSettings,
  type EventStore,
} from '../../src/event-store/event-store.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { context, openWorld } from './world.js'

/** The maximum of 16 callbacks in flight and 240 whose response is not yet in the log. */
const maxUnreported = 256
/** Enough time for hundreds of callbacks, even with a remote store. */
const generousMs = 60_000

async function appendElsewhere(store: EventStore): Promise<void> {
  const id = randomUUID()
  await store.append(`bystander-${id}`, 'no_stream', [{ id, type: 'T', data: {}, metadata: {} }])
}

t.test('while the log is slow, sends callbacks of other transfers up to a limit, each once', async (t) => {
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const unreported: string[] = []
  const world = await openWorld(t, {
    timing: { attemptTimeoutMs: 15_000 },
    wrapStore: (store): EventStore => ({
      ...store,
      async appendInOrder(appends) {
        if (appends.some(({ events }) => events.some(({ type }) => type === 'CallbackDelivered'))) {
          unreported.push(...appends.map(({ stream }) => stream))
          await released
        }
        return store.appendInOrder(appends)
      },
    }),
  })
  // After a failed assertion, delivery can stop only if its reports end.
  t.teardown(() => release())
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url, { callbackOnCreate: true })
  const withTwo = await Promise.all(Array.from({ length: 10 }, () => world.deposit(id)))
  for (const trackingId of withTwo) await world.transfers.act(trackingId, { type: 'Complete' }, context)
  // All before the callbacks start, and a few at a time: a remote store that is busy with hundreds of requests renews the lease too late.
  const withOne: string[] = []
  while (withOne.length < 280) {
    withOne.push(...(await Promise.all(Array.from({ length: 20 }, () => world.deposit(id)))))
  }
  world.start()
  await until(() => unreported.length >= maxUnreported, generousMs)
  await world.dueChecks()
  t.equal(receiver.received.length, maxUnreported)
  t.equal(unreported.length, maxUnreported, 'all reports wait')
  t.ok(withTwo.every((trackingId) => unreported.includes(`callback-${trackingId}`)))
  t.equal(new Set(unreported).size, maxUnreported, 'the second callback of a transfer waits for the first report')
  release()
  await until(() => world.counts.attempts.delivered >= withOne.length + 2 * withTwo.length, generousMs)
  t.equal(
    new Set(receiver.received.map(({ webhookId }) => webhookId)).size,
    receiver.received.length,
    'each callback is sent once',
  )
  for (const trackingId of withTwo) {
    const revisions = receiver.received.filter((one) => one.trackingId === trackingId).map(({ revision }) => revision)
    t.strictSame(revisions, [0, 1])
  }
})

t.test('does not record a callback again if the subscription delivers its event as new', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const first = world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  await first.stop()
  // A new group delivers every event of the transfer for the first time.
  const [created] = await world.store.readStream(`transfer-${trackingId}`)
  await world.store.persistentSubscriptions.delete('callbacks')
  await world.store.persistentSubscriptions.create('callbacks', {
    ...defaultPersistentSubscriptionSettings,
    startFrom: created!.position,
    streamPrefixes: ['transfer-'],
    minCheckpointCount: 1,
    checkpointAfterMs: 100,
  })
  world.start()
  const other = await world.completed(id)
  await until(async () => (await world.deliveryLog(other)).length === 2)
  // Other events count towards a checkpoint too, so its existence proves nothing. It passes no unfinished event.
  const last = (await world.store.readStream(`transfer-${other}`)).at(-1)!
  await until(async () => {
    await appendElsewhere(world.store)
    const { checkpoint } = await world.store.persistentSubscriptions.info('callbacks')
    return checkpoint !== undefined && comparePositions(checkpoint, last.position) >= 0
  })
  t.equal((await world.deliveryLog(trackingId)).length, 2)
  t.equal(receiver.received.length, 2)
})
