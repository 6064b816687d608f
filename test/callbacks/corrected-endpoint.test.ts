import t from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { collections } from '../../src/read-models/documents.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { until } from '../support/until.js'
import { accepts, startReceiver, type Teardown } from './receiver.js'
import { context, openWorld, type World } from './world.js'

// A merchant who corrects an endpoint expects the waiting callbacks immediately, and not after the delay of up to a day.

const hour = 3_600_000
const change = (callbackUrl: string) => ({ type: 'ChangeSettings', changes: { callbackUrl } }) as const

/** Returns a world with a callback that failed twice, so that its next attempt is five minutes away. */
async function openFailing(t: Teardown) {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, response) => void response.writeHead(500).end())
  const { id } = await world.merchant(receiver.url)
  const part = world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await failures(world, trackingId)) === 1)
  world.clock.forward(6_000)
  await until(async () => (await failures(world, trackingId)) === 2)
  return { world, receiver, id, part, trackingId }
}

async function typesOf(world: World, trackingId: string): Promise<readonly string[]> {
  return (await world.deliveryLog(trackingId)).map(({ type }) => type)
}

async function failures(world: World, trackingId: string): Promise<number> {
  return (await typesOf(world, trackingId)).filter((type) => type === 'CallbackAttemptFailed').length
}

const delivered = ['CallbackRequeued', 'CallbackDelivered']

t.test('a changed URL receives the waiting callbacks at once', async (t) => {
  const { world, receiver, id, trackingId } = await openFailing(t)
  await world.dueChecks()
  t.equal(receiver.received.length, 2, 'it waits')
  const corrected = await startReceiver(t)
  await world.merchants.execute(id, change(corrected.url), context)
  await until(() => corrected.received.length === 1)
  await until(async () => (await typesOf(world, trackingId)).at(-1) === 'CallbackDelivered')
  t.same((await typesOf(world, trackingId)).slice(-2), delivered)
  t.equal((await world.deliveryLog(trackingId)).at(-2)?.metadata.actor, 'system:callbacks')
})

t.test('an enabled endpoint receives them, and one that was tested', async (t) => {
  const { world, receiver, id, trackingId } = await openFailing(t)
  await world.merchants.execute(id, { type: 'DisableCallbacks', reason: 'test' }, context)
  await until(() => world.directory.byId(id)?.callbacksDisabled === 'test')
  await world.merchants.execute(id, { type: 'EnableCallbacks' }, context)
  await until(async () => (await failures(world, trackingId)) === 3)
  receiver.behave = accepts
  await world.callbacks.requestRetry(id, context)
  await until(async () => (await typesOf(world, trackingId)).at(-1) === 'CallbackDelivered')
  t.same((await typesOf(world, trackingId)).slice(-4), ['CallbackRequeued', 'CallbackAttemptFailed', ...delivered])
})

t.test('a correction ends one wait, and after another failure the schedule starts again', async (t) => {
  const { world, receiver, id, trackingId } = await openFailing(t)
  await world.merchants.execute(id, change(`${receiver.url}?corrected`), context)
  await until(async () => (await failures(world, trackingId)) === 3)
  await world.dueChecks()
  await world.dueChecks()
  t.same((await typesOf(world, trackingId)).slice(-2), ['CallbackRequeued', 'CallbackAttemptFailed'])
  world.clock.forward(4_000)
  await world.dueChecks()
  t.equal(receiver.received.length, 3, 'it waits five seconds again')
  world.clock.forward(2_000)
  await until(async () => (await failures(world, trackingId)) === 4)
})

t.test('a correction is in effect after a restart, also by a node whose clock is ahead', async (t) => {
  for (const aheadMs of [0, hour]) {
    const { world, receiver, id, part, trackingId } = await openFailing(t)
    await part.stop()
    const clock = () => new Date(world.clock.nowMs() + aheadMs).toISOString()
    const merchants = new MerchantCommands(world.store, clock, createSecretBox(world.masterKey))
    await merchants.execute(id, change(`${receiver.url}?corrected`), context)
    const restarted = world.start()
    await until(async () => (await failures(world, trackingId)) === 3)
    await world.dueChecks()
    await world.dueChecks()
    t.equal(receiver.received.length, 3, 'one attempt, and no more until it is due')
    await restarted.stop()
  }
})

t.test('a request is in effect after a restart', async (t) => {
  const { world, receiver, id, part, trackingId } = await openFailing(t)
  await part.stop()
  await world.callbacks.requestRetry(id, context)
  receiver.behave = accepts
  world.start()
  await until(async () => (await typesOf(world, trackingId)).at(-1) === 'CallbackDelivered')
  t.same((await typesOf(world, trackingId)).slice(-2), delivered)
})

t.test('a clock that is set back after a correction causes no endless attempts', async (t) => {
  const { world, receiver, id, trackingId } = await openFailing(t)
  await world.merchants.execute(id, change(`${receiver.url}?corrected`), context)
  await until(async () => (await failures(world, trackingId)) === 3)
  world.clock.forward(-hour)
  // The callback is due, because its wait began in the future.
  await until(async () => (await failures(world, trackingId)) === 4)
  await world.dueChecks()
  await world.dueChecks()
  t.equal(await failures(world, trackingId), 4)
})

t.test('a correction reaches more callbacks than memory holds', async (t) => {
  const world = await openWorld(t)
  // An endpoint that only fails for ten seconds, as on a slow machine, would get one attempt at a time.
  const isAccepted = (trackingId: string) => /^[0-3]/.test(trackingId)
  const receiver = await startReceiver(t, ({ trackingId }, response) => {
    response.writeHead(isAccepted(trackingId) ? 200 : 500).end()
  })
  const { id } = await world.merchant(receiver.url)
  world.start()
  const failing: string[] = []
  while (failing.length < 600) {
    const trackingIds = await Promise.all(Array.from({ length: 50 }, () => world.completed(id)))
    failing.push(...trackingIds.filter((trackingId) => !isAccepted(trackingId)))
  }
  // The attempts and their events take more than a minute on a busy machine with a server for each store.
  const withinMs = 240_000
  // While the read model is late, the search finds the same callbacks again and again.
  const failed = { merchantId: id, status: 'waiting', attempts: { $gt: 0 } } as const
  const listed = () => world.readModels.collection(collections.callbacks).countDocuments(failed)
  await until(async () => (await listed()) === failing.length, withinMs)
  const corrected = await startReceiver(t)
  await world.merchants.execute(id, change(corrected.url), context)
  const reached = () => new Set(corrected.received.map((each) => each.trackingId))
  await until(() => reached().size === failing.length, withinMs)
  t.same([...reached()].sort(), failing.sort())
})

/** Returns a receiver whose first response, a failure, waits until it is released. */
async function startSlow(t: Teardown, status: number) {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const receiver = await startReceiver(t, (_received, response) => {
    void released.then(() => response.writeHead(status).end())
  })
  return { receiver, release }
}

t.test('an attempt that was in flight at a correction delays nothing', async (t) => {
  for (const correction of ['url', 'request'] as const) {
    const world = await openWorld(t)
    const { receiver, release } = await startSlow(t, 500)
    const { id } = await world.merchant(receiver.url)
    world.start()
    const trackingId = await world.completed(id)
    await until(() => receiver.received.length === 1)
    const corrected = await startReceiver(t)
    if (correction === 'request') {
      await world.callbacks.requestRetry(id, context)
      receiver.behave = accepts
    } else await world.merchants.execute(id, change(corrected.url), context)
    await world.dueChecks()
    release()
    await until(async () => (await typesOf(world, trackingId)).at(-1) === 'CallbackDelivered')
    t.same(await typesOf(world, trackingId), ['CallbackRecorded', 'CallbackAttemptFailed', ...delivered], correction)
  }
})

t.test('a 410 of the endpoint before its correction does not disable the corrected one', async (t) => {
  const world = await openWorld(t)
  const { receiver, release } = await startSlow(t, 410)
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.completed(id)
  await until(() => receiver.received.length === 1)
  const corrected = await startReceiver(t)
  await world.merchants.execute(id, change(corrected.url), context)
  release()
  await until(async () => (await typesOf(world, trackingId)).at(-1) === 'CallbackDelivered')
  t.equal(corrected.received.length, 1)
  t.equal((await world.merchants.find(id))?.callbacksDisabled, null)
})

t.test(
  'a correction after one by a node whose clock is ahead, or before the clock was set back, is in effect',
  async (t) => {
    const { world, receiver, id, trackingId } = await openFailing(t)
    const clock = () => new Date(world.clock.nowMs() + hour).toISOString()
    const ahead = new MerchantCommands(world.store, clock, createSecretBox(world.masterKey))
    await ahead.execute(id, change(`${receiver.url}?ahead`), context)
    await until(async () => (await failures(world, trackingId)) === 3)
    await world.merchants.execute(id, change(`${receiver.url}?corrected`), context)
    await until(async () => (await failures(world, trackingId)) === 4)
    await world.callbacks.requestRetry(id, context)
    await until(async () => (await failures(world, trackingId)) === 5)
    await world.dueChecks()
    t.equal(await failures(world, trackingId), 5)
  },
)

t.test('a changed URL restarts the 120 hours after which an endpoint is disabled', async (t) => {
  const { world, receiver, id, trackingId } = await openFailing(t)
  const nextFailure = async (forwardMs: number) => {
    const before = await failures(world, trackingId)
    world.clock.forward(forwardMs)
    await until(async () => (await failures(world, trackingId)) > before)
  }
  await nextFailure(119 * hour)
  const before = await failures(world, trackingId)
  await world.merchants.execute(id, change(`${receiver.url}?corrected`), context)
  await until(async () => (await failures(world, trackingId)) > before)
  await nextFailure(2 * hour)
  t.equal(world.directory.byId(id)?.callbacksDisabled, null, '121 hours after the first failure')
  await nextFailure(119 * hour)
  await until(() => world.directory.byId(id)?.callbacksDisabled !== null)
  t.match(world.directory.byId(id)?.callbacksDisabled, '120 hours')
})
