import t from 'tap'
import { callbackGroup } from '../../src/callbacks/record/callback-recorder.js'
import { sweepCheckpoint } from '../../src/callbacks/record/callback-sweep.js'
import {
  defaultPersistentSubscriptionSettings,
  PersistentSubscriptionExistsError,
  PersistentSubscriptionMissingError,
  type PersistentSubscriptionSettings,
} from '../../src/event-store/event-store.js'
import { Checkpoint } from '../../src/subscriptions/checkpoint.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { context, openWorld, type World } from './world.js'

const generousMs = 60_000

/** A group with these settings never receives the events that are already in the log. */
const fromTheEnd: PersistentSubscriptionSettings = {
  ...defaultPersistentSubscriptionSettings,
  startFrom: 'end',
  streamPrefixes: ['transfer-'],
}

async function twoChanges(world: World, merchantId: string): Promise<string> {
  const trackingId = await world.deposit(merchantId)
  await world.transfers.act(trackingId, { type: 'SendToManualControl', message: null }, context)
  await world.transfers.act(trackingId, { type: 'Complete' }, context)
  return trackingId
}

/** Replaces the group with one that has no position or buffered events and starts at the end of the log. */
async function resetGroup({ store }: World): Promise<void> {
  const groups = store.persistentSubscriptions
  const unless = (expected: new (...args: never[]) => Error) => (error: unknown) => {
    if (!(error instanceof expected)) throw error
  }
  await groups.delete(callbackGroup).catch(unless(PersistentSubscriptionMissingError))
  // The recorder may have created it again.
  await groups.create(callbackGroup, fromTheEnd).catch(unless(PersistentSubscriptionExistsError))
}

t.test('sends each callback in order, regardless of what happens to the group and its buffered events', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const groups = world.store.persistentSubscriptions
  const trackingIds: string[] = []
  const changeSome = async () => {
    trackingIds.push(...(await Promise.all(Array.from({ length: 10 }, () => twoChanges(world, id)))))
  }
  const isConsumed = () =>
    groups.info(callbackGroup).then(
      ({ consumers }) => consumers === 1,
      () => false,
    )
  for (let round = 0; round < 3; round++) {
    // Restarts the service with unread events that the new group does not deliver.
    await changeSome()
    await resetGroup(world)
    const part = world.start()
    await until(isConsumed, generousMs)
    // Reloads the group while events arrive.
    await Promise.all([changeSome(), groups.update(callbackGroup, fromTheEnd)])
    await until(isConsumed, generousMs)
    // Deletes the group while events arrive.
    await Promise.all([changeSome(), resetGroup(world)])
    await until(isConsumed, generousMs)
    await part.stop()
  }
  world.start()
  await until(() => new Set(receiver.received.map(({ webhookId }) => webhookId)).size === 180, generousMs)
  await until(async () => {
    const lanes = await Promise.all(trackingIds.map((trackingId) => world.callbacks.lane(trackingId)))
    return lanes.every(({ deliveries }) => deliveries.every(({ status }) => status === 'delivered'))
  }, generousMs)
  for (const trackingId of trackingIds) {
    // A callback that was delayed on a busy machine may arrive twice.
    const received = receiver.received.filter((callback) => callback.trackingId === trackingId)
    t.strictSame([...new Set(received.map(({ revision }) => revision))], [1, 2])
  }
  const { subscription, sweep } = world.counts.records
  t.ok(sweep >= 60, `the sweep records the unread events: ${sweep} by the sweep, ${subscription} by the subscription`)
})

t.test('saves the sweep’s checkpoint even if another process appended one first', async (t) => {
  const world = await openWorld(t)
  const { id } = await world.merchant('http://127.0.0.1:9/')
  await twoChanges(world, id)
  const { events, checkpoint } = await world.store.readAll({ streamPrefixes: ['transfer-'], maxCount: 10 })
  const storage = sweepCheckpoint(world.store, world.clock.now)
  const [first, second] = [await Checkpoint.load(world.store, storage), await Checkpoint.load(world.store, storage)]
  first.advance(events[0]!.position, events[0])
  await first.save({ now: true })
  second.advance(checkpoint!, events.at(-1))
  await second.save({ now: true })
  const saved = await world.store.readStream('callbacks-sweep')
  t.strictSame(
    saved.map(({ data }) => (data.event as { revision: number }).revision),
    [0, 2],
  )
})
