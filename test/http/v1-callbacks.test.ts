import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import type { AttemptOutcome } from '../../src/domain/callback.js'
import { accepts, startReceiver } from '../callbacks/receiver.js'
import { destroyTestService, startTestService, type TestService } from '../support/test-service.js'
import { until } from '../support/until.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
let nowMs = Date.now()
const service = await startTestService({ projections: true, clock: () => new Date(nowMs).toISOString() })
t.teardown(() => destroyTestService(service))
const { callbacks } = service

function ask(key: string, { app }: TestService = service) {
  const headers = { webapikey: key }
  return {
    get: (path: string) => app.inject({ url: `/v1/callbacks${path}`, headers }),
    post: (path: string, payload: object = {}) =>
      app.inject({ method: 'POST', url: `/v1/callbacks${path}`, headers, payload }),
  }
}

const payload = {
  ...{ status: 2, referenceId: 'r-1', message: null, amountMinor: 100n, transactionAmountMinor: 100n },
  ...{ hasAmountMismatch: false, receiptUrl: null },
}

const callback = (merchantId: string, ...outcomes: readonly AttemptOutcome[]) =>
  callbackIn(service, merchantId, outcomes)

async function callbackIn({ callbacks }: TestService, merchantId: string, outcomes: readonly AttemptOutcome[]) {
  const [trackingId, webhookId] = [randomUUID(), randomUUID()]
  await callbacks.record({ webhookId, trackingId, merchantId, transferRevision: 1, payload }, context)
  for (const [n, outcome] of outcomes.entries()) {
    const attempted = { attempt: n + 1, httpStatus: 500, durationMs: 1, outcome }
    await callbacks.reportAttempt(trackingId, webhookId, attempted, context)
  }
  return { trackingId, webhookId }
}

const parked = { result: 'parked', reason: 'http 500' } as const
const delivered = { result: 'delivered' } as const

t.test('lists the callbacks of a merchant by status and in pages', async (t) => {
  const [own, other] = [await service.merchant(), await service.merchant()]
  await callback(other.id, parked)
  const made = []
  for (const outcomes of [[delivered], [parked], []]) made.push(await callback(own.id, ...outcomes))
  const { get } = ask(own.webApiKey)
  await until(async () => (await get('')).json().items.length === 3)
  const { items } = (await get('')).json()
  t.same(
    new Set(items.map((each: { webhookId: string }) => each.webhookId)),
    new Set(made.map((each) => each.webhookId)),
  )
  await until(async () => (await get('?status=parked')).json().items.length === 1)
  t.match((await get('?status=parked')).json(), {
    items: [
      {
        ...made[1],
        status: 'parked',
        failedAttempts: 1,
        lastFailure: 'http 500',
        nextAttemptAt: null,
        transferStatus: 2,
      },
    ],
    nextCursor: null,
  })
  const first = (await get('?limit=2')).json()
  const second = (await get(`?limit=2&cursor=${first.nextCursor}`)).json()
  t.same([...first.items, ...second.items], items)
  t.equal((await get('?status=lost')).statusCode, 400)
})

t.test('shows the state of the endpoint and enables it again', async (t) => {
  const own = await service.merchant({ callbackUrl: 'http://127.0.0.1:9/callbacks' })
  const { get, post } = ask(own.webApiKey)
  await callback(own.id)
  await callback(own.id, parked)
  await until(async () => (await get('/endpoint')).json().parked === 1)
  t.same((await get('/endpoint')).json(), {
    ...{ url: 'http://127.0.0.1:9/callbacks', state: 'healthy', reason: null, failingSince: null },
    ...{ waiting: 1, parked: 1 },
  })
  const failingSince = new Date(nowMs).toISOString()
  await callbacks.noteEndpointFailing(own.id, failingSince, context)
  t.match((await get('/endpoint')).json(), { state: 'failing', failingSince })
  await service.merchants.execute(
    own.id,
    { type: 'DisableCallbacks', reason: 'the endpoint returned 410 Gone' },
    context,
  )
  await service.until(() => service.directory.byId(own.id)?.callbacksDisabled !== null)
  t.match((await get('/endpoint')).json(), {
    state: 'disabled',
    reason: 'the endpoint returned 410 Gone',
    failingSince,
  })
  const enabled = await post('/endpoint/enable')
  t.match([enabled.statusCode, enabled.json()], [200, { state: 'failing', reason: null }])
  const history = await service.store.readStream(`merchant-${own.id}`)
  t.match(history.at(-1), { type: 'CallbackEndpointEnabled', metadata: { actor: `merchant:${own.id}` } })
  t.equal((await post('/endpoint/enable')).statusCode, 200, 'a repeat changes nothing')
  t.equal((await service.store.readStream(`merchant-${own.id}`)).length, history.length)
})

t.test('sends a test event that is signed like a callback, is marked as a test and is not recorded', async (t) => {
  const receiver = await startReceiver(t)
  const own = await service.merchant({ callbackUrl: receiver.url })
  const { post } = ask(own.webApiKey)
  const before = await service.store.readAll({ maxCount: 10_000 })
  nowMs = Date.now()
  const answer = await post('/endpoint/test')
  t.match([answer.statusCode, answer.json()], [200, { delivered: true, httpStatus: 200, failure: null }])
  const [received] = receiver.received
  t.equal(receiver.received.length, 1)
  t.match(received?.headers, { 'x-transfer-test': 'true', 'x-transfer-revision': '0' })
  t.match(received?.body, { TrackingId: '00000000-0000-0000-0000-000000000000', Status: 1, TransactionAmount: 0 })
  const headers = received?.headers as Record<string, string>
  t.same(new Webhook(own.webhookSecret.slice('whsec_'.length)).verify(received!.text, headers), received?.body)
  const again = await post('/endpoint/test')
  t.match([again.statusCode, again.headers['retry-after']], [429, '5'])

  nowMs += 5_000
  receiver.behave = (_received, response) => void response.writeHead(410).end()
  t.match((await post('/endpoint/test')).json(), { delivered: false, httpStatus: 410, failure: 'http 410' })
  nowMs += 5_000
  await receiver.close()
  t.match((await post('/endpoint/test')).json(), { delivered: false, httpStatus: null, failure: 'connection refused' })
  t.not(receiver.received[0]?.webhookId, receiver.received[1]?.webhookId, 'each test event has a new id')
  const after = await service.store.readAll({ maxCount: 10_000 })
  t.equal(after.events.length, before.events.length, 'a test event is not recorded and does not disable the endpoint')
})

t.test('a delivered test event sends waiting callbacks again, and a redirect shows its target', async (t) => {
  const receiver = await startReceiver(
    t,
    (_received, response) => void response.writeHead(308, { location: 'https://shop.example/new?a=1' }).end(),
  )
  const own = await service.merchant({ callbackUrl: receiver.url })
  const { get, post } = ask(own.webApiKey)
  const { trackingId } = await callback(own.id, {
    ...{ result: 'failed', reason: 'http 308' },
    nextAttemptAt: new Date(nowMs + 3_600_000).toISOString(),
  })
  await until(async () => {
    const [item] = (await get('?status=waiting')).json().items
    return item?.trackingId === trackingId && item.failedAttempts === 1
  })
  const requests = async () =>
    (await service.store.readStream(`callbacks-endpoint-${own.id}`)).map(({ type, metadata }) => [type, metadata.actor])
  nowMs = Date.now()
  t.match((await post('/endpoint/test')).json(), {
    ...{ delivered: false, failure: 'http 308', redirectsTo: 'https://shop.example/new?a=1', resendsWaiting: false },
  })
  t.same(await requests(), [])
  receiver.behave = accepts
  nowMs += 5_000
  t.match((await post('/endpoint/test')).json(), { delivered: true, redirectsTo: null, resendsWaiting: true })
  t.same(await requests(), [['CallbackRetryRequested', `merchant:${own.id}`]])
  const delayed = {
    webhookId: randomUUID(),
    trackingId: randomUUID(),
    merchantId: own.id,
    transferRevision: 1,
    payload,
  }
  await callbacks.record({ ...delayed, dueAt: new Date(nowMs + 3_600_000).toISOString() }, context)
  await callbacks.requeue(trackingId, 'latest', context)
  await until(async () => {
    const { items } = (await get('?status=waiting')).json()
    return items.length === 2 && items.every((each: { failedAttempts: number }) => each.failedAttempts === 0)
  })
  nowMs += 5_000
  t.match((await post('/endpoint/test')).json(), { delivered: true, resendsWaiting: false }, 'it is only delayed')
  await service.merchants.execute(own.id, { type: 'DisableCallbacks', reason: 'test' }, context)
  await until(async () => service.directory.byId(own.id)?.callbacksDisabled === 'test')
  nowMs += 5_000
  t.match((await post('/endpoint/test')).json(), { delivered: true, resendsWaiting: false }, 'it is disabled')
  t.equal((await requests()).length, 1)
  const other = await service.merchant({ callbackUrl: receiver.url })
  t.match((await ask(other.webApiKey).post('/endpoint/test')).json(), { delivered: true, resendsWaiting: false })
})

/** Starts another service with a live merchant, the first of which ends the sandbox: callbacks can no longer go to loopback. */
async function startLive(t: Test, settings: { readonly callbackUrl?: string } = {}) {
  const live = await startTestService({ projections: true, clock: () => new Date(nowMs).toISOString() })
  t.teardown(() => destroyTestService(live))
  return { live, own: await live.merchant({ ...settings, sandbox: false }) }
}

t.test('sends a test event only to addresses that callbacks can use', async (t) => {
  const { live, own } = await startLive(t, { callbackUrl: 'https://localhost/callbacks' })
  const tested = await ask(own.webApiKey, live).post('/endpoint/test')
  t.match(tested.json(), { delivered: false, failure: 'address refused' })
})

t.test('limits how many callbacks a sandbox merchant resends, by callbacks rather than by requests', async (t) => {
  let monotonicMs = 0
  const metrics = new Registry()
  const node = await service.otherNode({ monotonicMs: () => monotonicMs, metrics })
  const [own, other] = [await service.merchant(), await service.merchant()]
  const of = (merchant: typeof own) => Promise.all(Array.from({ length: 100 }, () => callback(merchant.id, parked)))
  const resend = (key: string, given: readonly object[]) =>
    node.inject({
      ...{ method: 'POST', url: '/v1/callbacks/resend', headers: { webapikey: key } },
      payload: { callbacks: given },
    })
  const [mine, theirs] = [await of(own), await of(other)]
  for (let n = 0; n < 10; n++) t.equal((await resend(own.webApiKey, mine)).json().requeued, 100)
  const refused = await resend(own.webApiKey, [mine[0]!])
  t.match([refused.statusCode, refused.json().error.code, refused.headers['retry-after']], [429, 42904, '1'])
  t.equal((await resend(other.webApiKey, theirs)).statusCode, 202, 'another merchant has its own limit')
  monotonicMs += 1_000
  t.equal((await resend(own.webApiKey, [mine[0]!])).statusCode, 202)
})

t.test('resends all or none of the given callbacks, or those parked since a time', async (t) => {
  const { live, own } = await startLive(t)
  const { callbacks } = live
  const foreign = await callbackIn(live, (await live.merchant()).id, [parked])
  const [first, second] = [await callbackIn(live, own.id, [parked]), await callbackIn(live, own.id, [delivered])]
  const { get, post } = ask(own.webApiKey, live)
  const unknown = { trackingId: first.trackingId, webhookId: randomUUID() }
  for (const wrong of [foreign, unknown, { trackingId: randomUUID(), webhookId: randomUUID() }]) {
    const answer = await post('/resend', { callbacks: [first, wrong] })
    t.match([answer.statusCode, answer.json().error.code], [404, 40403])
  }
  t.equal((await callbacks.lane(first.trackingId)).deliveries[0]?.status, 'parked', 'no callback is resent')

  const given = [first, second].map(({ trackingId, webhookId }) => ({
    trackingId: trackingId.toUpperCase(),
    webhookId,
  }))
  const resent = await post('/resend', { callbacks: [...given, ...given] })
  t.match([resent.statusCode, resent.json()], [202, { requeued: 2, more: false }])
  for (const { trackingId, webhookId } of [first, second]) {
    t.equal((await callbacks.lane(trackingId)).deliveries[0]?.status, 'waiting')
    await callbacks.reportAttempt(
      trackingId,
      webhookId,
      { attempt: 1, httpStatus: 500, durationMs: 1, outcome: parked },
      context,
    )
  }
  const tooSoon = await post('/resend', { callbacks: [first] })
  t.match([tooSoon.statusCode, tooSoon.json().error.code, tooSoon.headers['retry-after']], [429, 42904, '60'])

  nowMs += 120_000
  const since = new Date(nowMs).toISOString()
  const third = await callbackIn(live, own.id, [parked])
  await until(async () => (await get('?status=parked')).json().items.length === 3)
  t.match((await post('/resend', { parkedSince: since })).json(), { requeued: 1, more: false })
  t.equal((await callbacks.lane(third.trackingId)).deliveries[0]?.status, 'waiting')
  t.match((await post('/resend', { parkedSince: '2026-01-01' })).json(), { requeued: 2, more: false })
  t.equal(
    (await callbacks.lane(foreign.trackingId)).deliveries[0]?.status,
    'parked',
    'the callback of another merchant stays parked',
  )
  for (const body of [
    {},
    { callbacks: [first], parkedSince: since },
    { parkedSince: 'yesterday' },
    { callbacks: [] },
  ]) {
    t.equal((await post('/resend', body)).statusCode, 400, JSON.stringify(body))
  }
})
