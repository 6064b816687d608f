import t from 'tap'
import { defaultPersistentSubscriptionSettings, type EventStore } from '../../src/event-store/event-store.js'
import { startReceiver } from './receiver.js'
import { context, openWorld, until } from './world.js'

/** Sixteen on their way, and 240 that are answered and not written down. */
const maxUnwritten = 256
/** For hundreds of callbacks, on a server as well. */
const patienceMs = 60_000

t.test(
  'while the log is slow other transfers go on, up to a bound and each once; the same transfer waits',
  async (t) => {
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const held: string[] = []
    const world = await openWorld(t, {
      timing: { attemptTimeoutMs: 15_000 },
      wrapStore: (store): EventStore => ({
        ...store,
        async appendInOrder(appends) {
          if (appends.some(({ events }) => events.some(({ type }) => type === 'CallbackDelivered'))) {
            held.push(...appends.map(({ stream }) => stream))
            await released
          }
          return store.appendInOrder(appends)
        },
      }),
    })
    const receiver = await startReceiver(t)
    const { id } = await world.merchant(receiver.url, { callbackOnCreate: true })
    const twice = await Promise.all(Array.from({ length: 10 }, () => world.deposit(id)))
    for (const trackingId of twice) await world.transfers.complete(trackingId, {}, context)
    world.start()
    await until(() => twice.every((trackingId) => held.includes(`callback-${trackingId}`)))
    const once = await Promise.all(Array.from({ length: 280 }, () => world.deposit(id)))
    await until(() => held.length >= maxUnwritten, patienceMs)
    const sent = receiver.received.map(({ webhookId }) => webhookId)
    t.equal(sent.length, maxUnwritten)
    t.equal(held.length, maxUnwritten, 'all of them wait to be written down')
    t.equal(new Set(held).size, maxUnwritten, 'none of them the second of its transfer')
    release()
    await until(() => world.counts.attempts.delivered >= once.length + 2 * twice.length, patienceMs)
    t.equal(new Set(receiver.received.map(({ webhookId }) => webhookId)).size, receiver.received.length, 'each once')
    for (const trackingId of twice) {
      const revisions = receiver.received.filter((one) => one.trackingId === trackingId).map(({ revision }) => revision)
      t.strictSame(revisions, [0, 1])
    }
  },
)

t.test('a callback that is recorded already is not recorded again by who takes it for new', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const first = world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  await first.stop()
  // Made anew, it delivers everything as if for the first time.
  await world.store.persistentSubscriptions.delete('callbacks')
  await world.store.persistentSubscriptions.create('callbacks', {
    ...defaultPersistentSubscriptionSettings,
    streamPrefixes: ['transfer-'],
    checkpointAfterMs: 100,
  })
  world.start()
  const other = await world.completed(id)
  await until(async () => (await world.deliveryLog(other)).length === 2)
  await until(async () => {
    const { inFlight, checkpoint } = await world.store.persistentSubscriptions.info('callbacks')
    return inFlight === 0 && checkpoint !== undefined
  })
  t.equal((await world.deliveryLog(trackingId)).length, 2)
  t.equal(receiver.received.length, 2)
})
