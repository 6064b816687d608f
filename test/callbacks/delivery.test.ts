import { createHash, createHmac, randomUUID } from 'node:crypto'
import t from 'tap'
import { retryDelaysMs } from '../../src/callbacks/deliver/retry-schedule.js'
import type { Lane } from '../../src/domain/callback.js'
import { formatShortest } from '../../src/domain/money.js'
import { endpointStream } from '../../src/domain/streams.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import { until } from '../support/until.js'
import { accepts, type Received, startReceiver } from './receiver.js'
import { context, openWorld, quickTiming, type World } from './world.js'

const hour = 3_600_000

t.test('sends one callback for a completed deposit, with a valid body, hash and signature', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id, secretKey, webhookSecret } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.deposit(id, 100_50n)
  const receiptUrl = 'https://receipts.example/1'
  await world.transfers.act(
    trackingId,
    { type: 'Complete', transactionAmountMinor: 95_00n, message: 'paid "less"', receiptUrl },
    context,
  )
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  t.strictSame(await eventTypes(world, trackingId), ['CallbackRecorded', 'CallbackDelivered'])
  t.equal(receiver.received.length, 1)

  const [callback] = receiver.received
  const { body, headers, text } = callback!
  const hash = createHash('md5')
    .update(`${secretKey}${formatShortest(100_50n)}${body.RefereneceId}`)
    .digest('hex')
  t.strictSame(Object.entries(body), [
    ['Status', 2],
    ['StatusDescription', 'Completed'],
    ['TrackingId', trackingId],
    ['RefereneceId', body.RefereneceId],
    ['HashCode', hash.toUpperCase()],
    ['Message', 'paid "less"'],
    ['Amount', 100.5],
    ['TransactionAmount', 95],
    ['HasAmountMismatch', true],
    ['ReceiptUrl', receiptUrl],
  ])
  t.match(headers, {
    'content-type': 'application/json',
    'user-agent': 'transferd',
    'x-transfer-revision': '1',
    'webhook-signature': expectedSignature(webhookSecret, callback!),
  })
  t.ok(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1_000) < 30)
  t.equal(text, JSON.stringify(body))
})

t.test(
  'callbacks that are recorded while the worker drops an idle endpoint are sent once, by the next one',
  async (t) => {
    const world = await openWorld(t, { timing: { searchMs: 1 } })
    const receiver = await startReceiver(t)
    const { id } = await world.merchant(receiver.url)
    world.start()
    for (let sent = 0; sent < 200; sent++) {
      await world.completed(id)
      await until(() => receiver.received.length > sent)
    }
    t.equal(new Set(receiver.received.map(({ webhookId }) => webhookId)).size, 200)
    t.equal(receiver.received.length, 200)
    t.equal(world.counts.attempts.failed, 0)
  },
)

t.test('a callback that succeeds at the first attempt costs two appends, and its streams are not read', async (t) => {
  const calls = { appends: 0, reads: 0 }
  const wrapStore = (store: EventStore): EventStore => ({
    ...store,
    append: (...args) => {
      calls.appends++
      return store.append(...args)
    },
    appendInOrder: (appends, options) => {
      calls.appends += appends.length
      return store.appendInOrder(appends, options)
    },
    readStream: (stream, options) => {
      // The search for waiting callbacks reads the endpoint's stream at intervals.
      if (!stream.startsWith(endpointStream(''))) calls.reads++
      return store.readStream(stream, options)
    },
  })
  // The sweep would read unrecorded changes.
  const world = await openWorld(t, { wrapStore, project: false, timing: { sweepDelayMs: 60_000 } })
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url, { callbackOnCreate: true })
  world.start()
  // The first callback to an endpoint reads the endpoint's health.
  const first = await world.deposit(id)
  await until(async () => (await world.deliveryLog(first)).length === 2)
  Object.assign(calls, { appends: 0, reads: 0 })
  const trackingIds = await Promise.all(Array.from({ length: 30 }, () => world.deposit(id)))
  await until(() => world.counts.attempts.delivered === 1 + 30)
  await Promise.all(trackingIds.map((trackingId) => world.transfers.act(trackingId, { type: 'Complete' }, context)))
  await until(() => world.counts.attempts.delivered === 1 + 60)
  for (const trackingId of trackingIds)
    t.strictSame(await eventTypes(world, trackingId), [
      ...['CallbackRecorded', 'CallbackDelivered'],
      ...['CallbackRecorded', 'CallbackDelivered'],
    ])
  // The second callback of each is recorded while the first one is sent or reported.
  await Promise.all(Array.from({ length: 30 }, () => world.completed(id)))
  await until(() => world.counts.attempts.delivered === 1 + 120)
  t.equal(calls.appends, 2 * 120)
  // On a busy machine, some are sent before the event that records them has been followed.
  t.ok(calls.reads <= 120 / 4, `${calls.reads} streams were read for 120 callbacks`)
  t.strictSame([...new Set(receiver.received.map(({ webhookId }) => webhookId))].length, 121)
})

t.test('sends a callback for a creation only if the merchant enables it', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const disabled = await world.merchant(receiver.url)
  const enabled = await world.merchant(receiver.url, { callbackOnCreate: true })
  world.start()
  const cancelled = await world.deposit(disabled.id)
  const created = await world.deposit(enabled.id)
  await world.transfers.act(cancelled, { type: 'Cancel', message: null }, context)
  await until(() => receiver.received.length === 2)
  const callbacksOf = (of: string) =>
    receiver.received
      .filter(({ trackingId }) => trackingId === of)
      .map(({ body, revision }) => [body.StatusDescription, revision])
  t.strictSame(callbacksOf(created), [['Pending', 0]])
  t.strictSame(callbacksOf(cancelled), [['Cancelled', 1]])
})

t.test('the settings at the creation decide whether it triggers a callback', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const withoutCallback = await world.deposit(id)
  await world.transfers.act(withoutCallback, { type: 'Cancel', message: null }, context)
  const setCallbackOnCreate = async (callbackOnCreate: boolean) => {
    await world.merchants.execute(id, { type: 'ChangeSettings', changes: { callbackOnCreate } }, context)
    await until(() => world.directory.byId(id)!.settings.callbackOnCreate === callbackOnCreate)
  }
  await setCallbackOnCreate(true)
  const withCallback = await world.deposit(id)
  await setCallbackOnCreate(false)
  await world.transfers.act(withCallback, { type: 'Cancel', message: null }, context)
  await setCallbackOnCreate(true)
  world.start()
  for (const trackingId of [withoutCallback, withCallback])
    await world.transfers.act(trackingId, { type: 'Reopen', reason: 'it came' }, context)
  await until(() => receiver.received.length >= 5)
  const statuses = (of: string) =>
    receiver.received.filter(({ trackingId }) => trackingId === of).map(({ body }) => body.StatusDescription)
  t.strictSame(statuses(withoutCallback), ['Cancelled', 'ManualControl'])
  t.strictSame(statuses(withCallback), ['Pending', 'Cancelled', 'ManualControl'])
})

t.test(
  'includes the moved amount and its receipt for every status, but sends no callback for money alone',
  async (t) => {
    const world = await openWorld(t)
    const receiver = await startReceiver(t)
    const { id } = await world.merchant(receiver.url, { manualControlAboveMinor: 50_00n })
    const trackingId = await world.deposit(id)
    const received = { receivedAmountMinor: 95_00n, receiptUrl: 'https://receipts.example/95' }
    await world.transfers.receiveFunds(trackingId, 1, received, context)
    await world.transfers.act(trackingId, { type: 'Cancel', message: null }, context)
    await world.transfers.act(trackingId, { type: 'Reopen', reason: 'it came' }, context)
    const returned = { amountMinor: 15_00n, receiptUrl: 'https://receipts.example/15' }
    await world.transfers.act(trackingId, { type: 'ReturnFunds', ...returned }, context)
    await world.transfers.act(trackingId, { type: 'Complete' }, context)
    await world.transfers.receiveFunds(trackingId, 2, { receivedAmountMinor: 1n, receiptUrl: null }, context)
    await world.transfers.act(trackingId, { type: 'ResolveAttention', reason: 'a cent' }, context)
    const last = await world.completed(id)
    world.start()
    await until(() => receiver.received.some((callback) => callback.trackingId === last))
    await until(() => receiver.received.filter((callback) => callback.trackingId === trackingId).length >= 4)
    const money = { HasAmountMismatch: true, ReceiptUrl: 'https://receipts.example/95', Amount: 100 }
    const bodies = receiver.received.filter((callback) => callback.trackingId === trackingId).map(({ body }) => body)
    t.match(bodies, [
      { ...money, Status: 3, TransactionAmount: 95 },
      { ...money, Status: 4, TransactionAmount: 95 },
      { ...money, Status: 3, TransactionAmount: 95 },
      { ...money, Status: 2, TransactionAmount: 80 },
    ])
    t.equal((await eventTypes(world, trackingId)).filter((type) => type === 'CallbackRecorded').length, 4)
  },
)

t.test('signs with both webhook secrets during a rotation, and with the new one afterwards', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id, webhookSecret } = await world.merchant(receiver.url)
  world.start()
  const rotated = await world.merchants.rotateSecret(id, 'webhookSecret', 10, context)
  if (!rotated.accepted) throw new Error('the rotation was rejected')
  await until(() => world.directory.byId(id)?.webhookSecret.previous !== undefined)
  await world.completed(id)
  await until(() => receiver.received.length === 1)
  const first = receiver.received[0]!
  const both = `${expectedSignature(rotated.value, first)} ${expectedSignature(webhookSecret, first)}`
  t.equal(first.headers['webhook-signature'], both)
  world.clock.forward(11 * 60_000)
  await world.completed(id)
  await until(() => receiver.received.length === 2)
  const second = receiver.received[1]!
  t.equal(second.headers['webhook-signature'], expectedSignature(rotated.value, second))
})

t.test(
  'retries a failed callback by the schedule, parks it after the last attempt, and sends the next one',
  async (t) => {
    const world = await openWorld(t)
    const attemptsAtMs: number[] = []
    const receiver = await startReceiver(t, (_received, response) => {
      attemptsAtMs.push(world.clock.nowMs())
      response.writeHead(500).end('secret detail')
    })
    const { id } = await world.merchant(receiver.url)
    world.start()
    const trackingId = await world.deposit(id)
    await world.transfers.act(trackingId, { type: 'SendToManualControl', message: 'look' }, context)
    await world.transfers.act(trackingId, { type: 'Complete' }, context)
    for (const [index, delayMs] of retryDelaysMs.entries()) {
      await until(async () => (await laneOf(world, trackingId)).deliveries[0]?.attempts === index + 1)
      world.clock.forward(delayMs - 1_000)
      await world.dueChecks()
      t.equal(receiver.received.length, index + 1, `no attempt within ${delayMs} ms`)
      world.clock.forward(1_000)
    }
    await until(async () => (await laneOf(world, trackingId)).deliveries[0]?.status === 'parked')
    t.strictSame([...new Set(receiver.received.slice(0, 10).map(({ revision }) => revision))], [1])
    for (const [index, delayMs] of retryDelaysMs.entries())
      t.ok(attemptsAtMs[index + 1]! - attemptsAtMs[index]! >= delayMs, `attempt ${index + 2} after ${delayMs} ms`)
    await until(() => receiver.received.length >= 11)
    t.equal(receiver.received[10]!.revision, 2, 'the next callback of the transfer follows')
    t.equal(new Set(receiver.received.slice(0, 10).map(({ webhookId }) => webhookId)).size, 1)
    const log = await world.deliveryLog(trackingId)
    t.match(log.find((event) => event.type === 'CallbackParked')?.data, {
      attempt: 10,
      httpStatus: 500,
      reason: 'http 500',
    })
    t.notMatch(JSON.stringify(log.map((event) => event.data)), 'secret detail')
  },
)

t.test('sends a delayed callback when it is due, also after a correction of the endpoint or a restart', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const payload = {
    ...{ status: 2, referenceId: 'r', message: null, amountMinor: 100n, transactionAmountMinor: 100n },
    ...{ hasAmountMismatch: false, receiptUrl: null },
  }
  const record = (trackingId: string, transferRevision: number, delayMs?: number) => {
    const dueAt = delayMs !== undefined && { dueAt: new Date(world.clock.nowMs() + delayMs).toISOString() }
    const callback = { webhookId: randomUUID(), trackingId, merchantId: id, transferRevision, payload, ...dueAt }
    return world.callbacks.record(callback, context)
  }
  const revisions = (of: string) =>
    receiver.received.filter(({ trackingId }) => trackingId === of).map(({ revision }) => revision)
  const [delayed, other] = [randomUUID(), randomUUID()]
  const first = world.start()
  await record(delayed, 1, hour)
  await record(delayed, 2)
  await record(other, 1)
  await until(() => revisions(other).length === 1)
  await world.dueChecks()
  await world.merchants.execute(
    id,
    { type: 'ChangeSettings', changes: { callbackUrl: `${receiver.url}/new` } },
    context,
  )
  await world.callbacks.requestRetry(id, context)
  await until(() => world.directory.byId(id)!.settings.callbackUrl.endsWith('/new'))
  await world.dueChecks()
  await first.stop()
  world.start()
  await world.dueChecks()
  t.strictSame(revisions(delayed), [])
  world.clock.forward(hour)
  await until(async () => (await eventTypes(world, delayed)).length === 4)
  t.strictSame(revisions(delayed), [1, 2])
  t.strictSame(await eventTypes(world, delayed), [
    ...['CallbackRecorded', 'CallbackRecorded'],
    ...['CallbackDelivered', 'CallbackDelivered'],
  ])
})

t.test('sends requeued callbacks in order and with unchanged ids', async (t) => {
  const world = await openWorld(t)
  let failing = ''
  const receiver = await startReceiver(t, ({ trackingId }, response) => {
    response.writeHead(trackingId === failing ? 503 : 200).end()
  })
  const { id } = await world.merchant(receiver.url)
  const trackingId = await world.deposit(id)
  failing = trackingId
  world.start()
  await world.transfers.act(trackingId, { type: 'SendToManualControl', message: null }, context)
  await world.transfers.act(trackingId, { type: 'Complete' }, context)
  const parked = (count: number) =>
    until(async () => {
      const { deliveries } = await laneOf(world, trackingId)
      const dueMs = Date.parse(deliveries.find(({ status }) => status === 'waiting')?.nextAttemptAt ?? '')
      // The clock moves only to the next attempt, because 120 hours of failures disable the endpoint.
      const waitMs = dueMs - world.clock.nowMs()
      if (waitMs > 0) world.clock.forward(waitMs)
      return deliveries.filter(({ status }) => status === 'parked').length === count
    })
  await parked(1)
  // Without this success, the endpoint would be disabled before the tenth attempt of the second callback.
  const succeeding = await world.completed(id)
  await until(() => receiver.received.some((received) => received.trackingId === succeeding))
  await parked(2)
  const ids = [1, 2].map((revision) => receiver.received.find((received) => received.revision === revision)!.webhookId)
  receiver.received.length = 0
  failing = ''
  await world.callbacks.requeue(trackingId, 'parked', context)
  await until(async () => (await laneOf(world, trackingId)).deliveries.every(({ status }) => status === 'delivered'))
  t.strictSame(
    receiver.received.map(({ revision, webhookId }) => [revision, webhookId]),
    [
      [1, ids[0]],
      [2, ids[1]],
    ],
  )
})

t.test('disables the endpoint after a 410, and sends the waiting callbacks in order once it is enabled', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, response) => void response.writeHead(410).end())
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.deposit(id)
  await world.transfers.act(trackingId, { type: 'SendToManualControl', message: null }, context)
  await until(() => world.directory.byId(id)?.callbacksDisabled !== null)
  t.match(world.directory.byId(id)?.callbacksDisabled, '410')
  t.equal(world.counts.disabledCount, 1)
  await world.transfers.act(trackingId, { type: 'Complete' }, context)
  const other = await world.completed(id)
  await until(async () => (await eventTypes(world, other)).includes('CallbackRecorded'))
  world.clock.forward(hour)
  await world.dueChecks()
  t.equal(receiver.received.length, 1, 'a disabled endpoint receives nothing')
  t.match((await laneOf(world, trackingId)).deliveries[0], { status: 'waiting', lastFailure: 'http 410' })

  receiver.behave = accepts
  await world.merchants.execute(id, { type: 'EnableCallbacks' }, context)
  await until(() => receiver.received.length === 4)
  const sent = receiver.received.slice(1)
  t.strictSame(
    sent.filter((received) => received.trackingId === trackingId).map(({ revision }) => revision),
    [1, 2],
  )
  t.ok(sent.some((received) => received.trackingId === other))
})

t.test('disables an endpoint that only fails for 120 hours, across restarts', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, response) => void response.writeHead(500).end())
  const { id } = await world.merchant(receiver.url)
  const part = world.start()
  const failures = (trackingId: string) => async () =>
    (await eventTypes(world, trackingId)).filter((type) => type !== 'CallbackRecorded').length
  const one = await world.completed(id)
  await until(async () => (await failures(one)()) >= 1)
  world.clock.forward(15 * 60_000)
  await until(async () => (await world.callbacks.endpointState(id)).failingSince !== null)
  await part.stop()
  world.clock.forward(119 * hour)
  const before = await failures(one)()
  world.start()
  await until(async () => (await failures(one)()) > before)
  t.equal(world.directory.byId(id)?.callbacksDisabled, null, 'the endpoint is still enabled after 119 hours')
  world.clock.forward(2 * hour)
  await until(() => world.directory.byId(id)?.callbacksDisabled !== null)
  t.match(world.directory.byId(id)?.callbacksDisabled, '120 hours')

  await world.merchants.execute(id, { type: 'EnableCallbacks' }, context)
  await until(() => world.directory.byId(id)?.callbacksDisabled === null)
  // A disabled endpoint is held for a second, because the merchant directory may lag.
  world.clock.forward(1_000)
  const two = await world.completed(id)
  await until(async () => (await failures(two)()) >= 1)
  t.equal(world.directory.byId(id)?.callbacksDisabled, null, 'enabling the endpoint restarts the 120 hours')

  receiver.behave = accepts
  world.clock.forward(10_000)
  await until(async () => (await world.callbacks.endpointState(id)).failingSince === null)
  t.pass('a success ends the 120 hours')
})

t.test('waits as long as the Retry-After header of a 429 requests', async (t) => {
  const world = await openWorld(t)
  let respondedAtMs = Number.POSITIVE_INFINITY
  const receiver = await startReceiver(t, (_received, response) => {
    respondedAtMs = Date.now()
    response.writeHead(429, { 'retry-after': '3600' }).end()
  })
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await eventTypes(world, trackingId)).includes('CallbackAttemptFailed'))
  const failed = (await world.deliveryLog(trackingId))[1]!.data
  const waitMs = Date.parse(String(failed.nextAttemptAt)) - respondedAtMs
  t.ok(waitMs >= 3_600_000 && waitMs < 3_700_000, `${waitMs} ms`)
})

t.test('follows no redirects, and does not connect to an address that is not allowed', async (t) => {
  const world = await openWorld(t)
  const otherReceiver = await startReceiver(t)
  const receiver = await startReceiver(
    t,
    (_received, response) => void response.writeHead(307, { location: otherReceiver.url }).end(),
  )
  const redirected = await world.merchant(receiver.url)
  const live = await world.merchant(otherReceiver.url, { sandbox: false })
  const encrypted = await world.merchant(otherReceiver.url.replace('http:', 'https:'))
  world.start()
  const reasons: unknown[] = []
  for (const { id } of [redirected, live, encrypted]) reasons.push((await firstFailure(world, id)).reason)
  t.strictSame(reasons, ['http 307', 'address refused', 'tls'])
  t.equal(otherReceiver.received.length, 0)
})

t.test('records a short reason for each kind of failed connection', async (t) => {
  const world = await openWorld(t)
  const closed = await startReceiver(t)
  await closed.close()
  const resetting = await startReceiver(t, (_received, _response, request) => void request.socket.resetAndDestroy())
  const hanging = await startReceiver(t, () => undefined)
  const garbled = await startReceiver(t, (_received, _response, request) => void request.socket.end('nonsense\r\n\r\n'))
  world.start({ timing: { ...quickTiming, attemptTimeoutMs: 300 } })
  const failures: unknown[] = []
  for (const { url } of [closed, resetting, hanging, garbled]) {
    const { id } = await world.merchant(url)
    const { httpStatus, reason } = await firstFailure(world, id)
    failures.push([httpStatus, reason])
  }
  t.strictSame(failures, [
    [null, 'connection refused'],
    [null, 'connection reset'],
    [null, 'timeout'],
    [null, 'invalid response'],
  ])
})

t.test('cuts off an endless response, which still confirms the delivery', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, response) => {
    response.writeHead(200)
    const pour = () => {
      while (response.writable && response.write('x'.repeat(16_384)));
    }
    response.on('drain', pour)
    pour()
  })
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await eventTypes(world, trackingId)).includes('CallbackDelivered'))
  t.equal(receiver.received.length, 1)
})

t.test('waits at a stop for the attempts in flight, and reports them', async (t) => {
  const world = await openWorld(t)
  let respond: () => void = () => undefined
  const receiver = await startReceiver(t, (_received, response) => {
    respond = () => response.writeHead(200).end()
  })
  const { id } = await world.merchant(receiver.url)
  const part = world.start()
  const trackingId = await world.completed(id)
  await until(() => receiver.received.length === 1)
  const stopped = part.stop()
  t.equal(await Promise.race([stopped, new Promise((resolve) => setImmediate(resolve, 'waits'))]), 'waits')
  respond()
  await stopped
  t.strictSame(await eventTypes(world, trackingId), ['CallbackRecorded', 'CallbackDelivered'])
})

function expectedSignature(secret: string, { headers, text }: Received): string {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  const hmac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
  return `v1,${hmac.update(content).digest('base64')}`
}

function laneOf(world: World, trackingId: string): Promise<Lane> {
  return world.callbacks.lane(trackingId)
}

async function eventTypes(world: World, trackingId: string): Promise<string[]> {
  return (await world.deliveryLog(trackingId)).map((event) => event.type)
}

/** Completes a deposit and returns the first failed attempt of its callback. */
async function firstFailure(world: World, merchantId: string) {
  const trackingId = await world.completed(merchantId)
  await until(async () => (await eventTypes(world, trackingId)).includes('CallbackAttemptFailed'))
  return (await world.deliveryLog(trackingId))[1]!.data
}
