import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { IssuedCredentials } from '../../src/commands/merchant/merchant-commands.js'
import type { CallbackPayload } from '../../src/domain/callback.js'
import { scopes } from '../../src/domain/merchant/api-key.js'
import { type CreateKind, createBody, paths, post } from '../support/merchant-requests.js'
import { isSecantusDb } from '../support/mongodb.js'
import { destroyTestService, startTestService, type TestService } from '../support/test-service.js'

const context = { actor: 'cli:ada', $correlationId: 'job-1', $causationId: 'job-1' }
const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
const { app, transfers } = service
const merchant = await service.merchant()
const other = await service.merchant({ name: 'Other' })

function get(url: string, key = merchant.webApiKey) {
  return app.inject({ url, headers: { webapikey: key } })
}

async function create(
  kind: CreateKind,
  issued: IssuedCredentials,
  fields = {},
  amountText = '100.50',
): Promise<string> {
  const body = createBody(kind, issued.secretKey, fields, amountText)
  const response = await post(app, paths[kind], body, {
    key: issued.webApiKey,
    headers: { 'x-request-id': 'create-1' },
  })
  const json = response.json()
  return json.result?.trackingId ?? json.trackingId
}

/** Waits until the read models contain the requested list. */
async function listed<Answer>(url: string, isMet: (response: Answer) => boolean, key = merchant.webApiKey) {
  for (let i = 0; i < 300; i++) {
    const response = (await get(url, key)).json<Answer>()
    if (isMet(response)) return response
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${url} did not meet the condition in time`)
}

t.test('returns a complete transfer immediately', async (t) => {
  const referenceId = randomUUID()
  const trackingId = await create('withdrawal', merchant, { referenceId, identityNumber: '10000000146' })
  const response = await get(`/v1/transfers/${trackingId}`)
  t.equal(response.statusCode, 200)
  const { createdAt } = response.json()
  t.same(response.json(), {
    trackingId,
    transactionId: trackingId,
    referenceId,
    kind: 'withdrawal',
    channel: null,
    status: 1,
    statusDescription: 'Pending',
    amount: 100.5,
    transactionAmount: 0,
    hasAmountMismatch: false,
    receivedAmount: 0,
    returnedAmount: 0,
    resolvedAmount: 0,
    ...{ refundedAmount: 0, reservedAmount: 0, refundOf: null, refunds: [] },
    ...{ repaymentOf: null, repayments: [] },
    needsAttention: false,
    lateFunds: 0,
    receiptUrl: null,
    message: null,
    userId: '8412',
    name: 'Ada Lovelace',
    username: 'ada',
    paymentMethod: 1,
    metadata: null,
    accountNumber: 'TR330006100519786457841326',
    identityNumber: '10000000146',
    claimedBy: null,
    bankFile: null,
    bankRejection: null,
    claimedUntil: null,
    approvedAmount: null,
    exceededLimits: [],
    proposedAmount: null,
    createdAt,
    updatedAt: createdAt,
    expiresAt: null,
    revision: 0,
  })
  t.equal((await get(`/v1/transfers/${trackingId.toUpperCase()}`)).body, response.body)
})

t.test('shows the transferred amount of a completed deposit', async (t) => {
  const trackingId = await create('hosted', merchant)
  await transfers.act(
    trackingId,
    { type: 'Complete', transactionAmountMinor: 9500n, receiptUrl: 'https://r.example/1' },
    context,
  )
  const { json } = await get(`/v1/transfers/${trackingId}`)
  t.match(json(), {
    kind: 'deposit',
    channel: 'hosted',
    status: 2,
    statusDescription: 'Completed',
    amount: 100.5,
    transactionAmount: 95,
    hasAmountMismatch: true,
    receiptUrl: 'https://r.example/1',
    accountNumber: null,
    revision: 1,
  })
})

t.test('shows the same amounts of a deposit in the lists as from the log', async (t) => {
  const trackingId = await create('hosted', merchant)
  await transfers.act(trackingId, { type: 'Cancel', message: null }, context)
  const received = { receivedAmountMinor: 95_00n, receiptUrl: 'https://r.example/in' }
  await transfers.receiveFunds(trackingId, 1, received, context)
  const returned = { amountMinor: 60_00n, receiptUrl: 'https://r.example/out' }
  await transfers.act(trackingId, { type: 'ReturnFunds', ...returned }, context)
  const money = { receivedAmount: 95, returnedAmount: 60, receiptUrl: 'https://r.example/in', transactionAmount: 35 }
  const shown = (await get(`/v1/transfers/${trackingId}`)).json()
  t.match(shown, { ...money, hasAmountMismatch: true, resolvedAmount: 0, lateFunds: 35, needsAttention: true })
  await transfers.act(trackingId, { type: 'ResolveAttention', reason: 'credited' }, context)
  const settled = (await get(`/v1/transfers/${trackingId}`)).json()
  t.match(settled, {
    ...money,
    statusDescription: 'Cancelled',
    resolvedAmount: 35,
    lateFunds: 0,
    needsAttention: false,
  })
  type List = { items: { trackingId: string; revision: number }[] }
  const url = '/v1/transfers?status=Cancelled'
  const one = ({ items }: List) => items.find((each) => each.trackingId === trackingId)
  t.same(one(await listed<List>(url, (list) => one(list)?.revision === settled.revision)), settled)
  const { items } = (await get(`/v1/transfers/${trackingId}/events`)).json()
  t.match(items.slice(2), [
    { type: 'LateFundsReceived', data: { receivedAmount: 95, hasAmountMismatch: true } },
    { type: 'FundsReturned', data: { returnedAmount: 60, receiptUrl: 'https://r.example/out' } },
    { type: 'AttentionResolved', data: { resolvedAmount: 35, reason: 'credited' } },
  ])
})

t.test('shows every event of the history with its actor and correlation id', async (t) => {
  const trackingId = await create('native', merchant, { referenceId: 'history-1' })
  await transfers.act(trackingId, { type: 'SendToManualControl', message: 'checking' }, context)
  await transfers.act(trackingId, { type: 'Complete' }, context)
  const { items } = (await get(`/v1/transfers/${trackingId}/events`)).json()
  t.match(items, [
    {
      revision: 0,
      type: 'DepositCreated',
      actor: `merchant:${merchant.id}`,
      correlationId: 'create-1',
      data: { amount: 100.5, channel: 'native', referenceId: 'history-1', userId: '8412', paymentMethod: 1 },
    },
    { revision: 1, type: 'TransferSentToManualControl', actor: 'operator', data: { message: 'checking' } },
    { revision: 2, type: 'TransferCompleted', correlationId: 'job-1', data: { transactionAmount: 100.5 } },
  ])
  t.notOk('merchantId' in items[0].data)
})

t.test('never shows the users of the operator to a merchant', async (t) => {
  const trackingId = await create('native', merchant, { referenceId: 'who-works-here' })
  await transfers.act(trackingId, { type: 'Cancel', message: null }, context)
  await transfers.act(trackingId, { type: 'Reopen', reason: 'paid later' }, context)
  for (const path of [`/${trackingId}`, `/${trackingId}/events`, `/${trackingId}/callbacks`, '']) {
    t.notMatch((await get(`/v1/transfers${path}`)).body, 'cli:', path)
  }
  t.notMatch((await get('/v1/events?limit=100')).body, 'cli:')
})

t.test('returns 404 for unknown and malformed trackingIds', async (t) => {
  for (const id of [randomUUID(), 'x', '00000000', `${randomUUID()}x`, '%00', "'--"]) {
    for (const path of ['', '/events', '/callbacks']) {
      const response = await get(`/v1/transfers/${id}${path}`)
      t.equal(response.statusCode, 404, id + path)
      t.match(response.json(), { success: false, error: { code: 40402 } })
    }
  }
})

t.test('finds the deposit and the withdrawal of a referenceId immediately', async (t) => {
  const referenceId = randomUUID()
  const deposit = await create('hosted', merchant, { referenceId })
  const withdrawal = await create('withdrawal', merchant, { referenceId }, '100.51')
  const find = async (query: string) => {
    const { items } = (await get(`/v1/transfers?referenceId=${referenceId}${query}`)).json()
    return items.map((item: { trackingId: string }) => item.trackingId).sort()
  }
  t.same(await find(''), [deposit, withdrawal].sort())
  t.same(await find('&kind=deposit'), [deposit])
  t.same(await find('&status=2'), [])
  t.same(await find('&status=Pending&kind=withdrawal'), [withdrawal])
  t.same(await find('&to=2020-01-01'), [])
  t.same(await find('&from=2020-01-01T00:00:00%2B01:00').then((found) => found.length), 2)
  const page = (await get(`/v1/transfers?referenceId=${referenceId}&limit=1`)).json()
  const rest = (await get(`/v1/transfers?referenceId=${referenceId}&limit=1&cursor=${page.nextCursor}`)).json()
  t.same([page.items[0].trackingId, rest.items[0].trackingId].sort(), [deposit, withdrawal].sort())
  t.equal(rest.nextCursor, null)
})

t.test('lists transfers newest first, in pages and with filters', async (t) => {
  const fresh = await service.merchant()
  const { webApiKey: key } = fresh
  const ids: string[] = []
  for (let i = 0; i < 12; i++) ids.push(await create(i % 3 === 0 ? 'withdrawal' : 'native', fresh))
  await transfers.act(ids[1]!, { type: 'Cancel', message: 'no' }, context)
  await listed<List>('/v1/transfers?status=4', ({ items }) => items.length === 1, key)
  await listed<List>('/v1/transfers', ({ items }) => items.length === 12, key)

  const seen: string[] = []
  let cursor: string | null = ''
  let pages = 0
  while (cursor !== null) {
    const page: List = (await get(`/v1/transfers?limit=5${cursor && `&cursor=${cursor}`}`, key)).json()
    seen.push(...page.items.map(({ trackingId }) => trackingId))
    cursor = page.nextCursor
    pages++
  }
  t.equal(pages, 3)
  t.same([...seen].sort(), [...ids].sort(), 'the pages contain each transfer once')
  const times = (await get('/v1/transfers', key)).json<List>().items.map(({ createdAt }) => createdAt)
  t.same(times, [...times].sort().reverse())

  const count = async (query: string) => (await get(`/v1/transfers?${query}`, key)).json<List>().items.length
  t.equal(await count('kind=withdrawal'), 4)
  t.equal(await count('kind=deposit&status=Pending'), 7)
  t.equal(await count('status=Cancelled'), 1)
  const newest = times.filter((time) => time === times[0])
  // docs/reference/mongodb.md describes the fault of the server.
  const onFaultyServer = { skip: await isSecantusDb(process.env.READ_MODEL_URL) }
  t.equal(await count(`from=${times[0]}`), newest.length, 'from is inclusive', onFaultyServer)
  t.equal(await count(`to=${times[0]}`), times.filter((time) => time !== times[0]).length, 'to is exclusive')
  const [listedOne] = (await get('/v1/transfers?status=4', key)).json<List>().items
  t.same(listedOne, (await get(`/v1/transfers/${ids[1]}`, key)).json(), 'a list shows the state of the log')
})

interface List {
  readonly items: readonly { readonly trackingId: string; readonly createdAt: string }[]
  readonly nextCursor: string | null
}

interface Feed {
  readonly items: readonly { readonly position: string; readonly trackingId: string; readonly type: string }[]
  readonly next: string | null
}

t.test('returns every event in the feed once, in order, after a position', async (t) => {
  const fresh = await service.merchant()
  const { webApiKey: key } = fresh
  t.same((await get('/v1/events', key)).json(), { items: [], next: null })
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push(await create('native', fresh))
  for (const id of ids) await transfers.act(id, { type: 'Complete' }, context)
  await listed<Feed>('/v1/events', ({ items }) => items.length === 10, key)
  const read: Feed['items'][number][] = []
  let after: string | null = null
  for (;;) {
    const page: Feed = (await get(`/v1/events?limit=3${after === null ? '' : `&after=${after}`}`, key)).json()
    t.ok(page.items.length <= 3)
    if (page.items.length === 0) break
    read.push(...page.items)
    after = page.next
  }
  t.same(
    read.map(({ trackingId }) => trackingId),
    [...ids, ...ids],
  )
  t.same(
    read.slice(5).map(({ type }) => type),
    Array(5).fill('TransferCompleted'),
  )
  t.match(read[0], { revision: 0, data: { amount: 100.5, referenceId: String }, eventId: String, at: String })
  const history = (await get(`/v1/transfers/${ids[0]}/events`, key)).json()
  for (const [n, revision] of [0, 5].entries()) {
    const { actor: _, correlationId: __, ...event } = history.items[n]
    t.same(
      read[revision],
      { ...event, trackingId: ids[0], position: read[revision]?.position },
      'the event equals that in the history',
    )
  }
  const end: Feed = (await get(`/v1/events?after=${after}`, key)).json()
  t.same(end, { items: [], next: after }, 'the end of the feed returns the position to continue from')
})

t.test('resumes the feed after the last read event, regardless of its current position in the log', async (t) => {
  const fresh = await service.merchant()
  const { webApiKey: key } = fresh
  const ids: string[] = []
  for (let i = 0; i < 4; i++) ids.push(await create('native', fresh))
  const { items } = await listed<Feed>('/v1/events', ({ items }) => items.length === 4, key)
  const page: Feed = (await get('/v1/events?limit=2', key)).json()
  const [position, ...event] = page.next!.split('.')
  t.equal(position, items[1]!.position)
  t.same(event, [ids[1], '0'])
  const places = ['1', '1/1', '9007199254740991', items[0]!.position, items[3]!.position, position!]
  for (const place of places) {
    const response: Feed = (await get(`/v1/events?after=${[place, ...event].join('.')}`, key)).json()
    t.same(
      response.items.map(({ trackingId }) => trackingId),
      ids.slice(2),
      `the event had position ${place} on another engine`,
    )
    t.equal(response.next, `${items[3]!.position}.${ids[3]}.0`)
  }
  const others = await create('native', other)
  for (const unknown of [`${randomUUID()}.0`, `${ids[1]}.7`, `${others}.0`]) {
    const response = await get(`/v1/events?after=1.${unknown}`, key)
    t.equal(response.statusCode, 400, 'rejects an event that is not in the log of the merchant')
    t.match(response.json(), { error: { validationErrors: [{ message: /Start again without it/ }] } })
  }
})

t.test('rejects an invalid query parameter with 400 and names it', async (t) => {
  const invalid: { readonly [path: string]: readonly string[] } = {
    '/v1/transfers?': ['limit=0', 'limit=101', 'limit=-1', 'limit=x', 'limit=1e1', 'limit=', 'limit=1&limit=2'].concat(
      ['status=0', 'status=6', 'status=pending', 'status=', 'kind=x', 'kind=deposit&kind=deposit', 'from=x', 'to=x'],
      ['from=2026-13-01', 'to=2026-01-01T00:00:00', 'cursor=x', 'cursor=', 'referenceId=a%0Ab', 'referenceId='],
      [`referenceId=${'x'.repeat(129)}`, `cursor=${'x'.repeat(201)}`],
    ),
    '/v1/events?': [
      'limit=0',
      'limit=101',
      'after=x',
      'after=-1',
      'after=99999999999999999999',
      'after=1&after=2',
      'after=',
      'after=1.2.3',
      `after=1.${randomUUID()}`,
      `after=1.${randomUUID()}.-1`,
      `after=x.${randomUUID()}.1`,
    ],
  }
  for (const [path, queries] of Object.entries(invalid)) {
    for (const query of queries) {
      const response = await get(path + query)
      t.equal(response.statusCode, 400, query)
      t.match(
        response.json(),
        { error: { code: 40001, validationErrors: [{ members: [query.split('=')[0]] }] } },
        query,
      )
    }
  }
})

const payload: CallbackPayload = {
  status: 2,
  referenceId: 'r',
  message: null,
  amountMinor: 10050n,
  transactionAmountMinor: 10050n,
  hasAmountMismatch: false,
  receiptUrl: null,
}

/** Creates a transfer whose first callback was delivered and whose second was parked. */
async function withCallbacks(issued: IssuedCredentials) {
  const trackingId = await create('native', issued)
  const record = async (webhookId: string, transferRevision: number) => {
    const request = { webhookId, trackingId, merchantId: issued.id, transferRevision, payload }
    await service.callbacks.record(request, context)
  }
  const [first, second] = [randomUUID(), randomUUID()]
  await record(first, 1)
  await record(second, 2)
  const report = (id: string, attempted: Parameters<typeof service.callbacks.reportAttempt>[2]) =>
    service.callbacks.reportAttempt(trackingId, id, attempted, context)
  const soon = new Date(Date.now() + 5000).toISOString()
  await report(first, {
    attempt: 1,
    httpStatus: 500,
    durationMs: 12,
    outcome: { result: 'failed', reason: 'HTTP 500', nextAttemptAt: soon },
  })
  await report(first, { attempt: 2, httpStatus: 200, durationMs: 8, outcome: { result: 'delivered' } })
  const timedOut = { result: 'parked', reason: 'timeout' } as const
  await report(second, { attempt: 1, httpStatus: null, durationMs: 15000, outcome: timedOut })
  return { trackingId, first, second }
}

t.test('lists the callbacks of a transfer with every attempt', async (t) => {
  const { trackingId, first, second } = await withCallbacks(merchant)
  const { items } = (await get(`/v1/transfers/${trackingId}/callbacks`)).json()
  t.match(items, [
    {
      webhookId: first,
      transferRevision: 1,
      status: 'delivered',
      nextAttemptAt: null,
      payload: { status: 2, statusDescription: 'Completed', trackingId, amount: 100.5, transactionAmount: 100.5 },
      attempts: [
        { result: 'failed', httpStatus: 500, durationMs: 12, reason: 'HTTP 500' },
        { result: 'delivered', httpStatus: 200, durationMs: 8, reason: null },
      ],
    },
    { webhookId: second, status: 'parked', attempts: [{ result: 'parked', httpStatus: null, reason: 'timeout' }] },
  ])
})

t.test('resends the given callback, or the parked ones, or the latest', async (t) => {
  const merchant = await service.merchant({ sandbox: false })
  const { trackingId, first, second } = await withCallbacks(merchant)
  const url = `/v1/transfers/${trackingId}/callbacks/resend`
  const states = async () => {
    const { items } = (await get(`/v1/transfers/${trackingId}/callbacks`, merchant.webApiKey)).json()
    return items.map(({ status }: { status: string }) => status)
  }
  const resend = (payload?: string) =>
    app.inject({
      method: 'POST',
      url,
      headers: { webapikey: merchant.webApiKey, ...(payload !== undefined && { 'content-type': 'application/json' }) },
      ...(payload !== undefined && { payload }),
    })
  const parked = await resend()
  t.same([parked.statusCode, parked.json()], [202, { requeued: 1 }])
  t.same(await states(), ['delivered', 'waiting'])
  const done = { attempt: 1, httpStatus: 200, durationMs: 1, outcome: { result: 'delivered' } } as const
  await service.callbacks.reportAttempt(trackingId, second, done, context)
  const again = await resend('{}')
  t.match([again.statusCode, again.json()], [429, { error: { code: 42904 } }], 'the latest was delivered just now')
  t.ok(Number(again.headers['retry-after']) > 50 && Number(again.headers['retry-after']) <= 60)
  t.same(await states(), ['delivered', 'delivered'], 'the rejected request changes nothing')
  t.same((await resend(JSON.stringify({ webhookId: first }))).json(), { requeued: 1 })
  t.same(await states(), ['waiting', 'delivered'])
  t.same(
    (await resend(JSON.stringify({ webhookId: first }))).json(),
    { requeued: 0 },
    'a waiting callback is not requeued',
  )
  const unknown = await resend(JSON.stringify({ webhookId: randomUUID() }))
  t.match([unknown.statusCode, unknown.json()], [404, { error: { code: 40403 } }])
  const malformed = await resend(JSON.stringify({ webhookId: 7 }))
  t.match(
    [malformed.statusCode, malformed.json()],
    [400, { error: { validationErrors: [{ members: ['webhookId'] }] } }],
  )
  const none = await create('native', merchant)
  const nothing = await app.inject({
    method: 'POST',
    url: url.replace(trackingId, none),
    headers: { webapikey: merchant.webApiKey },
  })
  t.match([nothing.statusCode, nothing.json()], [404, { error: { code: 40403 } }], 'a transfer without callbacks')
})

t.test('resends a callback of a sandbox merchant at any time, also before its first attempt', async (t) => {
  const { trackingId, first, second } = await withCallbacks(merchant)
  const resend = async (url: string, payload: object) => {
    const response = await app.inject({ method: 'POST', url, headers: { webapikey: merchant.webApiKey }, payload })
    t.equal(response.statusCode, 202)
    return response.json().requeued
  }
  const ofTransfer = `/v1/transfers/${trackingId}/callbacks/resend`
  for (let n = 0; n < 3; n++) {
    t.equal(await resend(ofTransfer, { webhookId: first }), 1)
    t.equal(await resend('/v1/callbacks/resend', { callbacks: [{ trackingId, webhookId: first }] }), 1)
    t.equal(await resend(ofTransfer, {}), 1, n === 0 ? 'the parked one' : 'the latest')
  }
  const { deliveries } = await service.callbacks.lane(trackingId)
  t.match(deliveries, [
    { webhookId: first, status: 'waiting', requeues: 6 },
    { webhookId: second, status: 'waiting', requeues: 3 },
  ])
})

t.test('shows the merchant of the key and the catalogue of payment methods', async (t) => {
  const response = await get('/v1/merchant')
  const { merchantId, name, sandbox, currency, paymentMethods } = response.json()
  t.same(
    { merchantId, name, sandbox, currency },
    { merchantId: merchant.id, name: 'Shop', sandbox: true, currency: 'TRY' },
  )
  t.match(
    paymentMethods,
    service.http.paymentMethods.map(({ code, name, paidBy: type, kinds, minAmountMinor, maxAmountMinor }) => ({
      ...{ code, name, type, kinds, minAmount: Number(minAmountMinor) / 100, maxAmount: Number(maxAmountMinor) / 100 },
    })),
  )
  const live = await service.merchant({ sandbox: false, name: 'Live' })
  t.match((await get('/v1/merchant', live.webApiKey)).json(), { merchantId: live.id, name: 'Live', sandbox: false })
})

/** Returns requests for every route under /v1 that use ids of the other merchant in every parameter. */
function intrusions(trackingId: string, webhookId: string, referenceId: string): [string, string, string?][] {
  // The stream never ends; test/http/callback-stream.test.ts tests it.
  const routes = app.knownRoutes.filter(({ url }) => url.startsWith('/v1') && !url.endsWith('/stream'))
  return routes.flatMap(({ method, url }): [string, string, string?][] => {
    const path = url.replace(':trackingId', trackingId)
    const money = { revision: 0, amount: 1, reference: 'intrusion', reason: 'intrusion', reasonCode: 'AC04' }
    if (url.endsWith('/refunds') || url.endsWith('/repayments')) {
      const payout = { revision: 0, amount: 1, referenceId: 'intrusion', accountNumber: 'TR33' }
      return [[method, path, JSON.stringify(payout)]]
    }
    if (/\/(receive|correct|returned)$/.test(url)) return [[method, path, JSON.stringify(money)]]
    if (url.startsWith('/v1/withdrawals'))
      return [[method, path, JSON.stringify({ revision: 0, message: 'intrusion' })]]
    if (method === 'POST')
      return [
        [method, path],
        [method, path, JSON.stringify({ webhookId })],
      ]
    return [
      [method, path],
      [method, `${path}?referenceId=${referenceId}`],
      [method, `${path}?limit=100`],
      [method, `${path}?after=0&merchantId=${other.id}`],
    ]
  })
}

t.test('neither shows nor changes data of another merchant on any route under /v1', async (t) => {
  const referenceId = `theirs-${randomUUID()}`
  const theirs = await withCallbacks(other)
  const named = await create('hosted', other, { referenceId, name: 'Canary Name' })
  const own = await create('hosted', merchant)
  await listed<Feed>('/v1/events', ({ items }) => items.some(({ trackingId }) => trackingId === named), other.webApiKey)
  await listed<List>('/v1/transfers', ({ items }) => items.some(({ trackingId }) => trackingId === own))
  const all = { name: 'all', scopes, validUntil: null }
  const created = await service.merchants.createApiKey(merchant.id, all, context)
  const webapikey = created.accepted ? created.webApiKey : ''
  const before = await logOf(service, [theirs.trackingId, named])
  let requestCount = 0
  for (const trackingId of [theirs.trackingId, named]) {
    for (const [method, url, payload] of intrusions(trackingId, theirs.first, referenceId)) {
      const headers = { webapikey, ...(payload && { 'content-type': 'application/json' }) }
      const response = await app.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) })
      if (url.includes(trackingId)) t.equal(response.statusCode, 404, `${method} ${url}`)
      for (const canary of [theirs.trackingId, named, theirs.first, theirs.second, referenceId, other.id, 'Canary']) {
        t.notOk(response.body.includes(canary), `${method} ${url} shows ${canary}`)
      }
      requestCount++
    }
  }
  t.ok(requestCount >= 40)
  t.same(await logOf(service, [theirs.trackingId, named]), before, 'no event was appended')
})

t.test('requires a key and an allowed address on every route under /v1', async (t) => {
  for (const { method, url } of app.knownRoutes.filter((route) => route.url.startsWith('/v1'))) {
    const path = url.replace(':trackingId', randomUUID())
    const without = await app.inject({ method: method as 'GET', url: path })
    t.equal(without.statusCode, 401, `${method} ${url}`)
    const headers = { webapikey: merchant.webApiKey }
    const fromOtherAddress = await app.inject({
      method: method as 'GET',
      url: path,
      headers,
      remoteAddress: '198.51.100.1',
    })
    t.equal(fromOtherAddress.statusCode, 403, `${method} ${url}`)
  }
})

async function logOf({ store }: TestService, trackingIds: readonly string[]) {
  const streams = trackingIds.flatMap((id) => [`transfer-${id}`, `callback-${id}`])
  return (await Promise.all(streams.map((stream) => store.readStream(stream)))).flat().map(({ id }) => id)
}
