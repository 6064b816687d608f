import t from 'tap'
import { signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

let now = '2026-11-20T12:30:00.000Z'
const service = await startTestService({ projections: true, clock: () => now })
t.teardown(() => destroyTestService(service))
const blue = await service.merchant({ name: 'Blue' })
const red = await service.merchant({ name: 'Red' })
const context = { actor: 'test', $correlationId: 'c', $causationId: 'c' }

async function create(merchant: typeof blue, amountText: string): Promise<string> {
  const body = createBody('hosted', merchant.secretKey, {}, amountText)
  const response = await post(service.app, paths.hosted, body, { key: merchant.webApiKey })
  return response.json<{ trackingId: string }>().trackingId
}

const first = await create(blue, '100')
await create(blue, '50')
await create(red, '7.5')
now = '2026-11-21T09:10:00.000Z'
await service.transfers.act(
  first,
  { type: 'Complete', transactionAmountMinor: 9_900n, confirmedAmountMinor: 9_900n },
  context,
)
const house = await signInAs(service, 'auditor')
const operator = await signInAs(service, 'operator', [blue.id])
const range = 'from=2026-11-20&to=2026-11-22'

async function overview(who: typeof house, query = range) {
  const response = await who.get(`/overview?${query}`)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json()
}
for (let n = 0; n < 500; n++) {
  const { buckets, timeToCompletion } = await overview(house)
  if (buckets.length === 2 && timeToCompletion[0].count === 1) break
  await new Promise((resolve) => setTimeout(resolve, 20))
}

const none = { count: 0, since: null }

t.test('the overview shows the transfers of the range and the open ones', async (t) => {
  const bucket = { kind: 'deposit', transactionAmountMinor: '0' }
  t.match(await overview(house), {
    bucketMs: 3_600_000,
    buckets: [
      { ...bucket, start: '2026-11-20T12:00:00.000Z', status: 'Pending', count: 3, amountMinor: '15750' },
      {
        ...{ ...bucket, start: '2026-11-21T09:00:00.000Z', status: 'Completed', count: 1 },
        ...{ amountMinor: '10000', transactionAmountMinor: '9900' },
      },
    ],
    timeToCompletion: [
      { kind: 'deposit', count: 1, medianMs: 74_400_000, p95Ms: 74_400_000 },
      { kind: 'withdrawal', count: 0, medianMs: null, p95Ms: null },
    ],
    oldestPending: [{ amountMinor: Number }, { status: 'Pending' }],
    compared: {
      until: '2026-11-21T09:00:00.000Z',
      shiftMs: 172_800_000,
      now: [{ ...bucket, start: '2026-11-20T00:00:00.000Z', status: 'Pending', count: 3, amountMinor: '15750' }],
      earlier: [],
      before: [],
    },
    ...{ pending: { deposit: 2, withdrawal: 0 }, toPay: 0, failingEndpoints: 0, parkedCallbacks: 0 },
    ...{ needingAttention: { deposit: 0, withdrawal: 0 }, inOldBankFiles: 0 },
    ...{ inManualControl: { deposit: none, withdrawal: none }, awaitingApproval: none },
  })
  const long = await overview(house, 'from=2026-11-01&to=2026-12-01')
  t.equal(long.bucketMs, 86_400_000)
  t.same(
    long.buckets.map(({ start, count }: { start: string; count: number }) => [start, count]),
    [
      ['2026-11-20T00:00:00.000Z', 3],
      ['2026-11-21T00:00:00.000Z', 1],
    ],
  )
})

t.test('a merchant sees its own figures and nothing about the operation of the service', async (t) => {
  const own = await overview(operator)
  t.match(own, { buckets: [{ count: 2, amountMinor: '15000' }, { count: 1 }], pending: { deposit: 1, withdrawal: 0 } })
  t.equal(own.oldestPending.length, 1)
  t.same((await operator.get('/open')).json(), { pending: own.pending, toPay: 0, failingEndpoints: 0 })
  t.same(own.buckets, (await overview(house, `${range}&merchantId=${blue.id}`)).buckets)
  for (const path of ['/overview', '/statement', '/statement.csv', '/statement-exact.csv'])
    t.equal((await operator.get(`${path}?${range}&merchantId=${red.id}`)).statusCode, 404, path)
})

t.test('compares a day with the day before it, up to the same time', async (t) => {
  const before = now
  t.teardown(() => {
    now = before
  })
  now = '2026-11-21T09:20:00.000Z'
  const { compared } = await overview(house, 'from=2026-11-21&to=2026-11-22')
  const created = { kind: 'deposit', status: 'Pending', count: 3, amountMinor: '15750' }
  t.match(compared, {
    ...{ until: '2026-11-21T09:15:00.000Z', shiftMs: 86_400_000 },
    now: [{ status: 'Completed', count: 1, transactionAmountMinor: '9900' }],
    before: [{ ...created, start: '2026-11-20T12:00:00.000Z' }],
  })
  t.same(compared.earlier, [], 'they were created later on that day')
  const past = (await overview(house, 'from=2026-11-20T14:00Z&to=2026-11-21T14:00Z')).compared
  t.equal(past.until, '2026-11-21T09:15:00.000Z')
  t.match((await overview(house, 'from=2026-11-20T09:00Z&to=2026-11-20T14:00Z')).compared.now, [
    { ...created, start: '2026-11-20T09:00:00.000Z' },
  ])
})

t.test('counts failing endpoints, not disabled ones', async (t) => {
  const service = await startTestService({ projections: true, clock: () => now })
  t.teardown(() => destroyTestService(service))
  const [failing, disabled, other] = [await service.merchant(), await service.merchant(), await service.merchant()]
  const house = await signInAs(service, 'auditor')
  for (const { id } of [failing, disabled])
    await service.callbacks.noteEndpointFailing(id, '2026-11-20T00:00:00.000Z', context)
  await service.merchants.execute(disabled.id, { type: 'DisableCallbacks', reason: 'test' }, context)
  await service.until(() => service.directory.byId(disabled.id)?.callbacksDisabled === 'test')
  t.equal((await overview(house)).failingEndpoints, 1)
  t.equal((await overview(house, `${range}&merchantId=${other.id}`)).failingEndpoints, 0)
})

t.test('shows the statement and returns it as a file', async (t) => {
  const balances = {
    openingMinor: '0',
    receivedMinor: '0',
    returnedMinor: '0',
    refundedMinor: '0',
    keptMinor: '0',
    resolvedMinor: '0',
    heldMinor: '0',
  }
  const nothing = {
    requestedCount: 0,
    requestedMinor: '0',
    completedCount: 0,
    completedMinor: '0',
    ...balances,
    correctedCount: 0,
    correctedMinor: '0',
  }
  const { items } = (await operator.get(`/statement?${range}`)).json()
  t.same(items, [
    {
      ...{ ...nothing, day: '2026-11-20', kind: 'deposit', requestedCount: 2, requestedMinor: '15000' },
      ...{ mismatchMinor: '0', openCount: 2, openMinor: '15000' },
    },
    {
      ...{ ...nothing, day: '2026-11-21', kind: 'deposit', completedCount: 1, completedMinor: '9900' },
      ...{ receivedMinor: '9900', mismatchMinor: '-100', openCount: 1, openMinor: '5000' },
    },
  ])
  const inChatham = (await operator.get(`/statement?${range}&timeZone=Pacific/Chatham`)).json()
  t.match(inChatham.items[0], { day: '2026-11-21', requestedCount: 2 }, 'days begin earlier there')
  t.equal((await operator.get(`/statement?${range}&timeZone=Nowhere`)).statusCode, 400)
  const { headers, body } = await operator.get(`/statement.csv?${range}`)
  t.equal(headers['content-disposition'], 'attachment; filename="statement.csv"')
  t.equal(body[0], '\ufeff')
  t.same(body.slice(1).replaceAll('"', '').replaceAll(blue.id, '<id>').split('\r\n'), [
    'day,timeZone,periodFrom,periodTo,merchant,merchantId,kind,currency,requestedCount,requested,opening,received,completedCount,booked,mismatch,correctedCount,corrected,returned,refunded,kept,resolved,held,openCount,open',
    '2026-11-20,UTC,2026-11-20,2026-11-21,=Blue,=<id>,deposit,TRY,2,150.00,0.00,0.00,0,0.00,0.00,0,0.00,0.00,0.00,0.00,0.00,0.00,2,150.00',
    '2026-11-21,UTC,2026-11-20,2026-11-21,=Blue,=<id>,deposit,TRY,0,0.00,0.00,99.00,1,99.00,-1.00,0,0.00,0.00,0.00,0.00,0.00,0.00,1,50.00',
    '',
  ])
  const exact = await operator.get(`/statement-exact.csv?${range}`)
  t.equal(exact.headers['content-disposition'], 'attachment; filename="statement-exact.csv"')
  t.match(exact.body.split('\r\n')[1], `2026-11-20,UTC,2026-11-20,2026-11-21,Blue,${blue.id},deposit,TRY,2,150.00`)
})

t.test('rejects an invalid range and names the field', async (t) => {
  for (const [query, message] of [
    ['from=2026-11-20', "must have required property 'to'"],
    ['from=2026-11-20&to=2026-11-20', 'to must be after from.'],
    ['from=2024-11-20&to=2026-11-20', 'The range must not be longer than 400 days.'],
    ['from=x&to=2026-11-20', 'from must be an ISO 8601 date, or a time with a time zone.'],
  ] as const) {
    for (const path of ['/overview', '/statement', '/statement.csv', '/statement-exact.csv']) {
      const { statusCode, body } = await house.get(`${path}?${query}`)
      t.equal(statusCode, 400, query)
      if (!message.includes('required')) t.match(JSON.parse(body).error.validationErrors, [{ message }])
    }
  }
})
