import { createHash, createHmac } from 'node:crypto'
import t from 'tap'
import { formatShortest } from '../../src/domain/money.js'
import { type Received, startReceiver } from './receiver.js'
import { context, openWorld, until, type World } from './world.js'

const hour = 3_600_000

t.test('a completed deposit is called back once, with body, hash and signature that verify', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id, secretKey, webhookSecret } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.deposit(id, 100_50n)
  const receiptUrl = 'https://receipts.example/1'
  await world.transfers.complete(
    trackingId,
    { transactionAmountMinor: 95_00n, message: 'paid "less"', receiptUrl },
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

t.test('a creation is called back only when the merchant wants it', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const quiet = await world.merchant(receiver.url)
  const curious = await world.merchant(receiver.url, { callbackOnCreate: true })
  world.start()
  const suppressed = await world.deposit(quiet.id)
  const told = await world.deposit(curious.id)
  await world.transfers.changeStatus(suppressed, 'Cancel', null, context)
  await until(() => receiver.received.length === 2)
  t.strictSame(
    receiver.received
      .filter(({ trackingId }) => trackingId === told)
      .map(({ body, revision }) => [body.Status, revision]),
    [[1, 0]],
  )
  t.strictSame(
    receiver.received.filter(({ trackingId }) => trackingId === suppressed).map(({ body }) => body.StatusDescription),
    ['Cancelled'],
  )
})

t.test('the settings at the creation decide whether it triggers a callback, not later settings', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const suppressed = await world.deposit(id)
  await world.transfers.changeStatus(suppressed, 'Cancel', null, context)
  await world.merchants.changeSettings(id, { callbackOnCreate: true }, context)
  await until(() => world.directory.byId(id)!.settings.callbackOnCreate)
  const told = await world.deposit(id)
  await world.merchants.changeSettings(id, { callbackOnCreate: false }, context)
  await until(() => !world.directory.byId(id)!.settings.callbackOnCreate)
  await world.transfers.changeStatus(told, 'Cancel', null, context)
  await world.merchants.changeSettings(id, { callbackOnCreate: true }, context)
  await until(() => world.directory.byId(id)!.settings.callbackOnCreate)
  world.start()
  for (const trackingId of [suppressed, told]) await world.transfers.reopen(trackingId, 'it came', context)
  await until(() => receiver.received.length >= 5)
  const statuses = (of: string) =>
    receiver.received.filter(({ trackingId }) => trackingId === of).map(({ body }) => body.StatusDescription)
  t.strictSame(statuses(suppressed), ['Cancelled', 'ManualControl'])
  t.strictSame(statuses(told), ['Pending', 'Cancelled', 'ManualControl'])
})

t.test(
  'callbacks tell of money whatever the status, with its receipt; money alone is no change of status',
  async (t) => {
    const world = await openWorld(t)
    const receiver = await startReceiver(t)
    const { id } = await world.merchant(receiver.url, { manualControlAboveMinor: 50_00n })
    const trackingId = await world.deposit(id)
    const received = { receivedAmountMinor: 95_00n, receiptUrl: 'https://receipts.example/95' }
    await world.transfers.receiveFunds(trackingId, 1, received, context)
    await world.transfers.changeStatus(trackingId, 'Cancel', null, context)
    await world.transfers.reopen(trackingId, 'it came', context)
    const returned = { amountMinor: 15_00n, receiptUrl: 'https://receipts.example/15' }
    await world.transfers.returnFunds(trackingId, returned, context)
    await world.transfers.complete(trackingId, {}, context)
    await world.transfers.receiveFunds(trackingId, 2, { receivedAmountMinor: 1n, receiptUrl: null }, context)
    await world.transfers.resolveAttention(trackingId, 'a cent', context)
    const last = await world.completed(id)
    world.start()
    await until(() => receiver.received.some((callback) => callback.trackingId === last))
    await until(() => receiver.received.filter((callback) => callback.trackingId === trackingId).length >= 4)
    const money = { HasAmountMismatch: true, ReceiptUrl: 'https://receipts.example/95', Amount: 100 }
    const told = receiver.received.filter((callback) => callback.trackingId === trackingId).map(({ body }) => body)
    t.match(told, [
      { ...money, Status: 3, TransactionAmount: 95 },
      { ...money, Status: 4, TransactionAmount: 95 },
      { ...money, Status: 3, TransactionAmount: 95 },
      { ...money, Status: 2, TransactionAmount: 80 },
    ])
    t.strictSame(await recordedFor(world, trackingId), 4)
  },
)

t.test('while a webhook secret rotates, both signatures are there; afterwards one', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id, webhookSecret } = await world.merchant(receiver.url)
  world.start()
  const rotated = await world.merchants.rotateSecret(id, 'webhookSecret', 10, context)
  if (!rotated.accepted) throw new Error('not rotated')
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

t.test('each failure waits for its time in the schedule; then the callback is parked, the lane moves on', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, response) => void response.writeHead(500).end('secret detail'))
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.deposit(id)
  await world.transfers.changeStatus(trackingId, 'SendToManualControl', 'look', context)
  await world.transfers.complete(trackingId, {}, context)
  const waits = [5_000, 300_000, 1_800_000, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
  for (const [index, wait] of waits.entries()) {
    await until(async () => (await world.callbacks.lane(trackingId)).deliveries[0]?.attempts === index + 1)
    world.clock.forward(wait - 1_000)
    await new Promise((resolve) => setTimeout(resolve, 300))
    t.equal(receiver.received.length, index + 1, `nothing before ${wait} ms`)
    world.clock.forward(1_000)
  }
  await until(async () => (await world.callbacks.lane(trackingId)).deliveries[0]?.status === 'parked')
  t.strictSame([...new Set(receiver.received.slice(0, 10).map(({ revision }) => revision))], [1])
  await until(() => receiver.received.length >= 11)
  t.equal(receiver.received[10]!.revision, 2, 'the next one of the transfer has its turn')
  t.equal(new Set(receiver.received.slice(0, 10).map(({ webhookId }) => webhookId)).size, 1)
  const log = await world.deliveryLog(trackingId)
  t.match(log.find((event) => event.type === 'CallbackParked')?.data, {
    attempt: 10,
    httpStatus: 500,
    reason: 'http 500',
  })
  t.notMatch(JSON.stringify(log.map((event) => event.data)), 'secret detail')
})

t.test('parked callbacks are taken up again by command, in order and under their own ids', async (t) => {
  const world = await openWorld(t)
  let failing = ''
  const receiver = await startReceiver(t, ({ trackingId }, response) => {
    response.writeHead(trackingId === failing ? 503 : 200).end()
  })
  const { id } = await world.merchant(receiver.url)
  const trackingId = await world.deposit(id)
  failing = trackingId
  world.start()
  await world.transfers.changeStatus(trackingId, 'SendToManualControl', null, context)
  await world.transfers.complete(trackingId, {}, context)
  const parked = (count: number) =>
    until(async () => {
      const { deliveries } = await world.callbacks.lane(trackingId)
      const dueMs = Date.parse(deliveries.find(({ status }) => status === 'waiting')?.nextAttemptAt ?? '')
      // Straight to the next attempt: after 120 hours it would be disabled.
      const wait = dueMs - Date.parse(world.clock.now())
      if (wait > 0) world.clock.forward(wait)
      return deliveries.filter(({ status }) => status === 'parked').length === count
    })
  await parked(1)
  // Or it would be disabled before the second one has had its ten attempts.
  const well = await world.completed(id)
  await until(() => receiver.received.some((received) => received.trackingId === well))
  await parked(2)
  const ids = [1, 2].map((revision) => receiver.received.find((received) => received.revision === revision)!.webhookId)
  receiver.received.length = 0
  failing = ''
  await world.callbacks.requeue(trackingId, 'parked', context)
  await until(async () =>
    (await world.callbacks.lane(trackingId)).deliveries.every((one) => one.status === 'delivered'),
  )
  t.strictSame(
    receiver.received.map(({ revision, webhookId }) => [revision, webhookId]),
    [
      [1, ids[0]],
      [2, ids[1]],
    ],
  )
})

t.test('410 disables the endpoint; what waits is sent in order once it is enabled', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, response) => void response.writeHead(410).end())
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.deposit(id)
  await world.transfers.changeStatus(trackingId, 'SendToManualControl', null, context)
  await until(() => world.directory.byId(id)?.callbacksDisabled !== null)
  t.match(world.directory.byId(id)?.callbacksDisabled, '410')
  t.equal(world.counts.disabledCount, 1)
  await world.transfers.complete(trackingId, {}, context)
  const other = await world.completed(id)
  world.clock.forward(hour)
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  t.equal(receiver.received.length, 1, 'nothing is sent while it is disabled')
  t.match((await world.callbacks.lane(trackingId)).deliveries[0], { status: 'waiting', lastFailure: 'http 410' })

  receiver.behave = (_received, response) => void response.writeHead(200).end()
  await world.merchants.enableCallbacks(id, context)
  await until(() => receiver.received.length === 4)
  const sent = receiver.received.slice(1)
  t.strictSame(
    sent.filter((received) => received.trackingId === trackingId).map(({ revision }) => revision),
    [1, 2],
  )
  t.ok(sent.some((received) => received.trackingId === other))
})

t.test('an endpoint with nothing but failures for 120 hours is disabled, restarts included', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, response) => void response.writeHead(500).end())
  const { id } = await world.merchant(receiver.url)
  const first = world.start()
  const failures = (trackingId: string) => async () =>
    (await eventTypes(world, trackingId)).filter((type) => type !== 'CallbackRecorded').length
  const one = await world.completed(id)
  await until(async () => (await failures(one)()) >= 1)
  world.clock.forward(15 * 60_000)
  await until(async () => (await world.callbacks.endpointFailingSince(id)) !== null)
  await first.stop()
  world.clock.forward(119 * hour)
  world.start()
  const before = await failures(one)()
  await until(async () => (await failures(one)()) > before)
  t.equal(world.directory.byId(id)?.callbacksDisabled, null, 'not yet after 119 hours')
  world.clock.forward(2 * hour)
  const two = await world.completed(id)
  await until(() => world.directory.byId(id)?.callbacksDisabled !== null)
  t.match(world.directory.byId(id)?.callbacksDisabled, '120 hours')
  await until(async () => (await failures(two)()) >= 1)

  await world.merchants.enableCallbacks(id, context)
  await until(() => world.directory.byId(id)?.callbacksDisabled === null)
  const three = await world.completed(id)
  await until(async () => (await failures(three)()) >= 1)
  t.equal(world.directory.byId(id)?.callbacksDisabled, null, 'the 120 hours begin anew when it is enabled')

  receiver.behave = (_received, response) => void response.writeHead(200).end()
  world.clock.forward(10_000)
  await until(async () => (await world.callbacks.endpointFailingSince(id)) === null)
  t.pass('a success ends them')
})

t.test('Retry-After of a 429 is waited for', async (t) => {
  const world = await openWorld(t)
  let answeredAtMs = Number.POSITIVE_INFINITY
  const receiver = await startReceiver(t, (_received, response) => {
    answeredAtMs = Date.now()
    response.writeHead(429, { 'retry-after': '3600' }).end()
  })
  const { id } = await world.merchant(receiver.url)
  world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await eventTypes(world, trackingId)).includes('CallbackAttemptFailed'))
  const failed = (await world.deliveryLog(trackingId))[1]!.data
  // From the answer on: by when it is reported, a moment has passed.
  const waitMs = Date.parse(String(failed.nextAttemptAt)) - answeredAtMs
  t.ok(waitMs >= 3_600_000 && waitMs < 3_700_000, `${waitMs} ms`)
})

t.test('redirects are not followed, and an address that is not allowed is not connected to', async (t) => {
  const world = await openWorld(t)
  const elsewhere = await startReceiver(t)
  const receiver = await startReceiver(
    t,
    (_received, response) => void response.writeHead(307, { location: elsewhere.url }).end(),
  )
  const redirected = await world.merchant(receiver.url)
  const strict = await world.merchant(elsewhere.url, { sandbox: false })
  const encrypted = await world.merchant(elsewhere.url.replace('http:', 'https:'))
  world.start()
  const reasons = new Map<string, string>()
  for (const { id } of [redirected, strict, encrypted]) {
    const trackingId = await world.completed(id)
    await until(async () => (await eventTypes(world, trackingId)).includes('CallbackAttemptFailed'))
    reasons.set(id, String((await world.deliveryLog(trackingId))[1]!.data.reason))
  }
  t.strictSame([...reasons.values()], ['http 307', 'address refused', 'tls'])
  t.equal(elsewhere.received.length, 0)
})

t.test('what cannot be reached fails with a short reason', async (t) => {
  const world = await openWorld(t)
  const closed = await startReceiver(t)
  await closed.close()
  const resetting = await startReceiver(t, (_received, _response, request) => void request.socket.resetAndDestroy())
  const hanging = await startReceiver(t, () => undefined)
  const garbled = await startReceiver(t, (_received, _response, request) => void request.socket.end('nonsense\r\n\r\n'))
  world.start({ timing: { attemptTimeoutMs: 300, sweepBehindMs: 0 } })
  const reasons: string[] = []
  for (const { url } of [closed, resetting, hanging, garbled]) {
    const { id } = await world.merchant(url)
    const trackingId = await world.completed(id)
    await until(async () => (await eventTypes(world, trackingId)).includes('CallbackAttemptFailed'))
    const { data } = (await world.deliveryLog(trackingId))[1]!
    t.equal(data.httpStatus, null)
    reasons.push(String(data.reason))
  }
  t.strictSame(reasons, ['connection refused', 'connection reset', 'timeout', 'bad answer'])
})

t.test('an answer without end is cut off, and is a delivery all the same', async (t) => {
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

t.test('a stop waits for what is in flight and writes it down', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t, (_received, response) => {
    setTimeout(() => response.writeHead(200).end(), 400)
  })
  const { id } = await world.merchant(receiver.url)
  const part = world.start()
  const trackingId = await world.completed(id)
  await until(() => receiver.received.length === 1)
  await part.stop()
  t.strictSame(await eventTypes(world, trackingId), ['CallbackRecorded', 'CallbackDelivered'])
})

function expectedSignature(secret: string, { headers, text }: Received): string {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  return `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(content)
    .digest('base64')}`
}

async function eventTypes(world: World, trackingId: string): Promise<string[]> {
  return (await world.deliveryLog(trackingId)).map((event) => event.type)
}

async function recordedFor(world: World, trackingId: string): Promise<number> {
  return (await world.deliveryLog(trackingId)).filter(({ type }) => type === 'CallbackRecorded').length
}
