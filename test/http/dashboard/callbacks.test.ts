import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { AttemptOutcome } from '../../../src/domain/callback.js'
import { EndpointAttempts } from '../../../src/read-models/endpoint-attempts.js'
import { startReceiver } from '../../callbacks/receiver.js'
import { signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'
import { until } from '../../support/until.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
const { callbacks } = service
const other = await service.merchant({ name: 'Other' })

const parked: AttemptOutcome = { result: 'parked', reason: 'http 500' }
const payload = {
  ...{ status: 2, referenceId: 'r-1', message: null, amountMinor: 100n, transactionAmountMinor: 100n },
  ...{ hasAmountMismatch: false, receiptUrl: null },
}

async function callback(merchant: typeof other, outcome?: AttemptOutcome) {
  const body = createBody('native', merchant.secretKey)
  const created = (await post(service.app, paths.native, body, { key: merchant.webApiKey })).json()
  const [trackingId, webhookId] = [String(created.result.trackingId), randomUUID()]
  await callbacks.record({ webhookId, trackingId, merchantId: merchant.id, transferRevision: 1, payload }, context)
  const attempted = { attempt: 1, httpStatus: 500, durationMs: 1 }
  if (outcome) await callbacks.reportAttempt(trackingId, webhookId, { ...attempted, outcome }, context)
  return { trackingId, webhookId }
}

const statusOf = async ({ trackingId }: { readonly trackingId: string }) =>
  (await callbacks.lane(trackingId)).deliveries[0]?.status

t.test('lists the callbacks of all visible merchants, and of no others', async (t) => {
  const [first, second, other] = [
    await service.merchant({ name: 'First' }),
    await service.merchant({ name: 'Second' }),
    await service.merchant({ name: 'Other' }),
  ]
  const made = [await callback(first, parked), await callback(second), await callback(first, { result: 'delivered' })]
  const foreign = await callback(other, parked)
  const user = await signInAs(service, 'viewer', [first.id, second.id])
  const staff = await signInAs(service, 'auditor')
  const list = async (query: string, who = user) => (await who.get(`/callbacks${query}`)).json().items
  await until(async () => (await list('')).length === 3 && (await list('?status=parked')).length === 1)
  await until(async () => (await list(`?status=parked&merchantId=${other.id}`, staff)).length === 1)
  const ids = (items: readonly { readonly webhookId: string }[]) => items.map(({ webhookId }) => webhookId)
  const all = await list('')
  t.same(new Set(ids(all)), new Set(made.map(({ webhookId }) => webhookId)))
  const times = all.map(({ recordedAt }: { readonly recordedAt: string }) => recordedAt)
  t.same(times, [...times].sort().reverse())
  const pages: unknown[] = []
  let next = '?limit=1'
  while (next !== '') {
    const { items, nextCursor } = (await user.get(`/callbacks${next}`)).json()
    pages.push(...items)
    next = nextCursor === null ? '' : `?limit=1&cursor=${nextCursor}`
  }
  t.same(pages, all, 'the pages contain the same callbacks')
  t.match(await list('?status=parked'), [{ ...made[0], transferStatus: 'Completed', status: 'parked', dueAt: null }])
  t.same(ids(await list(`?merchantId=${second.id}`)), [made[1]!.webhookId])
  t.same(ids(await list(`?trackingId=${made[1]!.trackingId.toUpperCase()}`)), [made[1]!.webhookId])
  for (const query of [`?merchantId=${other.id}`, `?trackingId=${foreign.trackingId}`, `?trackingId=${randomUUID()}`]) {
    t.equal((await user.get(`/callbacks${query}`)).statusCode, 404, query)
  }
})

t.test('reports more callbacks than one request requeues, and the next request requeues the rest', async (t) => {
  const crowded = await service.merchant()
  const since = new Date().toISOString()
  const park = async () => {
    const [trackingId, webhookId] = [randomUUID(), randomUUID()]
    const request = { webhookId, trackingId, merchantId: crowded.id, transferRevision: 1, payload }
    await callbacks.record(request, context)
    const attempted = { attempt: 1, httpStatus: 500, durationMs: 1, outcome: parked }
    await callbacks.reportAttempt(trackingId, webhookId, attempted, context)
    return trackingId
  }
  for (let batch = 0; batch < 10; batch++) await Promise.all(Array.from({ length: 100 }, park))
  await Promise.all([park(), park()])
  const last = await park()
  const staff = await signInAs(service, 'operations')
  const endpoint = async () =>
    (await staff.get('/endpoints')).json().items.find((each: { merchantId: string }) => each.merchantId === crowded.id)
  const newest = async () => (await staff.get(`/callbacks?status=parked&merchantId=${crowded.id}`)).json().items
  await until(async () => (await newest()).some((each: { trackingId: string }) => each.trackingId === last))
  t.equal((await endpoint()).parked, 1_000, 'the count stops at 1,000')
  const request = { merchantId: crowded.id, parkedSince: since }
  t.match((await staff.post('/callbacks/resend', request)).json(), { requeued: 1_000, more: true })
  await until(async () => (await endpoint()).parked === 3)
  t.match((await staff.post('/callbacks/resend', request)).json(), { requeued: 3, more: false })
})

t.test('shows the content of a callback without its hash, and the response to its last attempt', async (t) => {
  const own = await service.merchant()
  const [trackingId, webhookId] = [randomUUID(), randomUUID()]
  const recorded = { webhookId, trackingId, merchantId: own.id, transferRevision: 1, payload }
  await callbacks.record(recorded, context)
  const viewer = await signInAs(service, 'viewer', [own.id])
  const url = `/callbacks/${trackingId.toUpperCase()}/${webhookId}`
  const sent = (await viewer.get(url)).json()
  t.match(JSON.parse(sent.request), { Status: payload.status, TrackingId: trackingId, HashCode: '…' })
  t.equal(sent.response, null)
  const attempts = new EndpointAttempts(service.readModels)
  const attempt = { webhookId, trackingId, referenceId: 'r', transferStatus: 1, httpStatus: 500, durationMs: 1 }
  for (const body of ['older', 'Out of stock'])
    attempts.note(own.id, { at: new Date().toISOString(), ...attempt, failure: 'http 500', body })
  attempts.note(own.id, { at: new Date().toISOString(), ...attempt, webhookId: randomUUID(), failure: null })
  await attempts.flush()
  t.equal((await viewer.get(url)).json().response, 'Out of stock')
  for (const [who, path] of [
    [await signInAs(service, 'viewer', [other.id]), url],
    [viewer, `/callbacks/${trackingId}/${randomUUID()}`],
  ] as const) {
    t.match((await who.get(path)).json(), { error: { code: 40403 } })
  }
})

t.test('shows endpoints, sends a test event, and enables them with the permission', async (t) => {
  // The first live merchant of a service ends the sandbox, in which callbacks can go to loopback.
  const service = await startTestService({ projections: true })
  t.teardown(() => destroyTestService(service))
  const receiver = await startReceiver(t)
  const own = await service.merchant({ name: 'Endpoint', callbackUrl: receiver.url })
  const other = await service.merchant()
  const operator = await signInAs(service, 'operator', [own.id])
  await service.merchants.execute(own.id, { type: 'DisableCallbacks', reason: 'only failures for 120 hours' }, context)
  await service.until(() => service.directory.byId(own.id)?.callbacksDisabled !== null)
  t.same((await operator.get('/endpoints')).json().items, [
    {
      ...{ merchantId: own.id, merchantName: 'Endpoint', url: receiver.url, state: 'disabled' },
      ...{ reason: 'only failures for 120 hours', failingSince: null, waiting: 0, parked: 0 },
      ...{ attempts: [], lastBody: null },
    },
  ])
  const tested = await operator.post(`/merchants/${own.id}/endpoint/test`)
  t.match(tested.json(), { delivered: true, httpStatus: 200, failure: null })
  t.match(receiver.received[0]?.headers, { 'x-transfer-test': 'true' })
  t.equal((await operator.post(`/merchants/${own.id}/endpoint/test`)).statusCode, 429)
  t.match(
    (await operator.get('/endpoints')).json().items,
    [{ state: 'disabled' }],
    'a test event does not enable the endpoint',
  )
  for (const path of ['test', 'enable']) {
    t.equal((await operator.post(`/merchants/${other.id}/endpoint/${path}`)).statusCode, 404, path)
    const viewer = await signInAs(service, 'viewer', [own.id])
    t.equal((await viewer.post(`/merchants/${own.id}/endpoint/${path}`)).statusCode, 403, path)
  }
  t.match((await operator.post(`/merchants/${own.id}/endpoint/enable`)).json(), { callbacksDisabled: null })
  t.match((await operator.get('/endpoints')).json().items, [{ state: 'healthy' }])
  const { metadata } = (await service.store.readStream(`merchant-${own.id}`)).at(-1)!
  t.equal(metadata.actor, `user:${operator.userId}`)
})

t.test('resends callbacks by id or since a time, with a rate limit for live merchants only', async (t) => {
  const live = await service.merchant({ sandbox: false })
  const [mine, foreign] = [await callback(live, parked), await callback(other, parked)]
  const operator = await signInAs(service, 'operator', [live.id])
  const staff = await signInAs(service, 'operations')
  const both = await operator.post('/callbacks/resend', { callbacks: [mine, foreign] })
  t.match([both.statusCode, both.json().error.code], [404, 40403])
  t.equal(await statusOf(mine), 'parked')
  t.equal(
    (await operator.post('/callbacks/resend', { merchantId: other.id, parkedSince: '2026-01-01' })).statusCode,
    404,
  )
  t.match((await operator.post('/callbacks/resend', { callbacks: [mine] })).json(), { requeued: 1, more: false })
  const { metadata } = (await service.store.readStream(`callback-${mine.trackingId}`)).at(-1)!
  t.equal(metadata.actor, `user:${operator.userId}`)
  await callbacks.reportAttempt(
    mine.trackingId,
    mine.webhookId,
    { attempt: 1, httpStatus: 500, durationMs: 1, outcome: parked },
    context,
  )
  t.equal((await operator.post('/callbacks/resend', { callbacks: [mine] })).statusCode, 429)
  t.match((await staff.post('/callbacks/resend', { callbacks: [mine, foreign] })).json(), { requeued: 2 })
  const many = Array.from({ length: 200 }, () => mine)
  t.equal(
    (await staff.post('/callbacks/resend', { callbacks: many })).statusCode,
    200,
    'a request can contain 200 callbacks',
  )
  for (const body of [{}, { callbacks: [] }, { merchantId: live.id }, { merchantId: live.id, parkedSince: 'then' }]) {
    t.equal((await staff.post('/callbacks/resend', body)).statusCode, 400, JSON.stringify(body))
  }
})

t.test('resends the callbacks of a sandbox merchant at any time, also before their first attempt', async (t) => {
  const live = await service.merchant({ sandbox: false })
  const [sandboxed, unsent] = [await callback(other), await callback(live)]
  const requeues = async ({ trackingId }: { readonly trackingId: string }) =>
    (await callbacks.lane(trackingId)).deliveries[0]?.requeues
  for (const user of [
    await signInAs(service, 'operator', [other.id, live.id]),
    await signInAs(service, 'operations'),
  ]) {
    const before = (await requeues(sandboxed))!
    for (const _ of [1, 2]) {
      const answer = await user.post('/callbacks/resend', { callbacks: [sandboxed, unsent] })
      t.match([answer.statusCode, answer.json()], [200, { requeued: 1, more: false }])
    }
    t.equal(await requeues(sandboxed), before + 2)
    t.equal(await requeues(unsent), 0, 'the callback of a live merchant is due anyway')
  }
})
