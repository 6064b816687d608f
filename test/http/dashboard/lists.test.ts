import t from 'tap'
import type { Session } from '../../../src/http/dashboard/api.js'
import { misleadingMetadata } from '../../domain/transfer-samples.js'
import { signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { cellOf, rawCells } from '../../support/spreadsheet.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'
import { until } from '../../support/until.js'

const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
const blue = await service.merchant({ name: 'Blue' })
const red = await service.merchant({ name: 'Red' })

type Row = { trackingId: string; merchantId: string; createdAt: string; amountMinor: number; name: string }
interface Answer {
  items: Row[]
  nextCursor: string | null
}
interface Asking {
  get(path: string): ReturnType<Awaited<ReturnType<typeof signInAs>>['get']>
  session: Session
}

async function create(merchant: typeof blue, kind: 'hosted' | 'withdrawal', fields: object, amountText = '100.50') {
  const body = createBody(kind, merchant.secretKey, { ...fields }, amountText)
  const response = await post(service.app, paths[kind], body, { key: merchant.webApiKey })
  if (response.statusCode !== 200) throw new Error(response.body)
}

const formula = '=HYPERLINK("https://evil.example";"click, please")'
// A random reference could begin with the digits that a test searches for.
for (let n = 0; n < 30; n++) {
  const fields = { name: `Ada ${n}`, userId: `user-${n}`, referenceId: `order-${n + 500}` }
  await create(n % 3 === 0 ? red : blue, 'hosted', fields, `${10 + n}.25`)
}
const accountNumber = 'TR330006100519786457841326'
await create(blue, 'withdrawal', { referenceId: 'order-600', name: formula, userId: '+90 555', accountNumber })
const staff = await signInAs(service, 'auditor')
const operator = await signInAs(service, 'operator', [blue.id])
const both = await signInAs(service, 'viewer', [blue.id, red.id])

async function ask(who: Asking, query: string): Promise<Answer> {
  const response = await who.get(`/transfers${query}`)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json()
}

async function untilListed(): Promise<void> {
  for (let n = 0; n < 500; n++) {
    if ((await ask(staff, '?limit=100')).items.length === 31) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('the projections did not catch up')
}
await untilListed()

t.test('sums a filtered list, and only the transfers that the viewer sees', async (t) => {
  const sum = async (who: Asking, query: string) => (await who.get(`/transfers/sum${query}`)).json()
  const listed = async (who: Asking, query: string) => {
    const { items } = await ask(who, `${query}&limit=100`)
    const amountMinor = String(items.reduce((total, each) => total + each.amountMinor, 0))
    return { count: items.length, more: false, amountMinor }
  }
  for (const query of ['?kind=deposit', '?kind=withdrawal', '?status=Pending', '?text=Ada', `?merchantId=${blue.id}`])
    t.same(await sum(staff, query), await listed(staff, query), query)
  t.same(await sum(operator, '?kind=deposit'), await listed(operator, '?kind=deposit'))
  t.equal((await operator.get(`/transfers/sum?merchantId=${red.id}`)).statusCode, 404)
  t.equal((await staff.get('/transfers/sum?text=Ada&status=Pending')).statusCode, 400)
})

t.test('shows every transfer to staff, and only the transfers of their merchant to its users', async (t) => {
  const ofMerchant = async (who: Asking, query: string) => [
    ...new Set((await ask(who, query)).items.map(({ merchantId }) => merchantId)),
  ]
  const ofStaff = await ofMerchant(staff, '?limit=100')
  t.ok([blue.id, red.id].every((id) => ofStaff.includes(id)))
  t.same(await ofMerchant(operator, '?limit=100'), [blue.id])
  t.same((await ofMerchant(both, '?limit=100')).sort(), [blue.id, red.id].sort())
  t.same(await ofMerchant(both, `?merchantId=${red.id}`), [red.id])
  for (const path of ['/transfers', '/transfers.csv', '/transfers-exact.csv']) {
    const { statusCode, body } = await operator.get(`${path}?merchantId=${red.id}`)
    t.equal(statusCode, 404)
    t.match(JSON.parse(body), { error: { code: 40405 } })
  }
  t.equal((await service.app.inject('/dashboard/api/transfers')).statusCode, 401)
})

t.test('applies every filter and continues pages', async (t) => {
  const count = async (who: Asking, query: string) => (await ask(who, query)).items.length
  t.equal(await count(operator, '?kind=withdrawal'), 1)
  t.equal(await count(operator, '?status=Completed'), 0)
  t.equal(await count(operator, '?text=user-1'), 8, 'matches user-1 and user-10 to user-19, except those of Red')
  t.equal(await count(operator, '?text=TR33%200006'), 1)
  t.equal(await count(staff, '?text=ada%2012'), 1, 'a name by its words, across all merchants')
  t.equal(await count(operator, '?text=ada%2012'), 0, 'only transfers of their merchants')
  t.equal(await count(operator, '?minAmount=3025&maxAmount=3225'), 2)
  t.equal(await count(operator, '?method=1&limit=100'), 21)
  t.equal(await count(operator, '?method=2'), 0)
  t.equal(await count(both, '?method=1&limit=100'), 31)
  t.equal(await count(operator, '?attention=open'), 0)
  t.equal(await count(operator, '?to=2020-01-01'), 0)
  const amounts = (await ask(operator, '?sort=largest&kind=deposit&limit=3')).items.map((row) => row.amountMinor)
  t.same(amounts, [3925, 3825, 3625])
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: Answer = await ask(both, `?sort=oldest&limit=7${cursor && `&cursor=${cursor}`}`)
    seen.push(...page.items.map(({ trackingId }) => trackingId))
    cursor = page.nextCursor
  }
  t.equal(seen.length, 31)
  t.equal(new Set(seen).size, 31)
})

t.test('rejects a filter without an index and names its parameter', async (t) => {
  for (const [query, message] of [
    ['?minAmount=1', 'minAmount requires merchantId.'],
    [`?merchantId=${blue.id}&maxAmount=5&from=2026-01-01`, 'from cannot be combined with amount.'],
    ['?text=ada&status=Pending', 'status cannot be combined with text.'],
    ['?cursor=x', 'cursor must be the cursor of an earlier response.'],
    ['?from=yesterday', 'from must be an ISO 8601 date, or a time with a time zone.'],
    ['?limit=500', 'limit must be an integer from 1 to 100.'],
  ] as const) {
    for (const path of ['/transfers', ...(/limit|cursor/.test(query) ? [] : ['/transfers.csv'])]) {
      const { statusCode, body } = await staff.get(`${path}${query}`)
      t.equal(statusCode, 400, query)
      t.match(JSON.parse(body), { error: { validationErrors: [{ message }] } })
    }
  }
})

t.test('the exported file has the rows of the page in the same order', async (t) => {
  for (const query of [
    '?sort=oldest',
    '?kind=deposit',
    '?text=ada',
    '?sort=smallest&minAmount=2000',
    '?method=1',
    '?status=Failed',
  ]) {
    const shown: Row[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Answer = await ask(operator, `${query}&limit=4${cursor && `&cursor=${cursor}`}`)
      shown.push(...page.items)
      cursor = page.nextCursor
    }
    const { statusCode, headers, body } = await operator.get(`/transfers.csv${query}`)
    t.equal(statusCode, 200)
    t.equal(headers['content-type'], 'text/csv; charset=utf-8')
    t.equal(headers['content-disposition'], 'attachment; filename="transfers.csv"')
    const [header, ...rows] = rawCells(body, ',')
    const column = (name: string) => rows.map((row) => row[header!.indexOf(name)])
    t.same(
      column('trackingId').map((raw) => cellOf(raw!)),
      shown.map(({ trackingId }) => ({ is: 'text', text: trackingId })),
      query,
    )
    t.same(
      column('amount'),
      shown.map(({ amountMinor }) => (amountMinor / 100).toFixed(2)),
    )
    t.same(
      column('createdAt'),
      shown.map(({ createdAt }) => createdAt.slice(0, 19).replace('T', ' ')),
    )
    t.ok(rows.every((row) => row.length === header!.length))
  }
})

t.test('the name of a customer never becomes a formula in a spreadsheet', async (t) => {
  const { body } = await operator.get('/transfers.csv?kind=withdrawal')
  const [header, row] = rawCells(body, ',')
  t.same(cellOf(row![header!.indexOf('name')]!), { is: 'text', text: formula })
  t.same(cellOf(row![header!.indexOf('userId')]!), { is: 'text', text: '+90 555' })
  t.equal(row![header!.indexOf('amount')], '100.50')
})

t.test('the exported file names the merchant and the payment method', async (t) => {
  const { body } = await operator.get('/transfers.csv?kind=withdrawal')
  t.equal(body[0], '\ufeff')
  const [header, row] = rawCells(body, ',')
  const cell = (column: string) => cellOf(row![header!.indexOf(column)]!)
  t.same(cell('merchant'), { is: 'text', text: service.directory.byId(blue.id)!.settings.name })
  t.same(cell('merchantId'), { is: 'text', text: blue.id })
  t.same(cell('paymentMethod'), { is: 'text', text: service.app.services.paymentMethods[0]!.name })
})

t.test('the file for programs has exact texts, amounts and times in UTC, and says so in its name', async (t) => {
  const { headers, body } = await operator.get('/transfers-exact.csv?kind=withdrawal&language=tr')
  t.equal(headers['content-disposition'], 'attachment; filename="transfers-exact.csv"')
  t.match(body, /^createdAt,updatedAt,completedAt,timeZone,/)
  const [header, row] = rawCells(body, ',')
  const line = Object.fromEntries(header!.map((name, index) => [name, row![index]]))
  t.hasStrict(line, { name: formula, userId: '+90 555', amount: '100.50', accountNumber, timeZone: 'UTC' })
  t.equal(line.createdAt, (await ask(operator, '?kind=withdrawal')).items[0]!.createdAt)
})

t.test('only the file for programs has the metadata, as JSON', async (t) => {
  const shop = await service.merchant({ name: 'Grey' })
  const clerk = await signInAs(service, 'operator', [shop.id])
  await create(shop, 'hosted', { metadata: misleadingMetadata })
  await until(async () => (await ask(clerk, '')).items.length === 1)
  const [header, row] = rawCells((await clerk.get('/transfers-exact.csv')).body, ',')
  t.equal(row![header!.indexOf('metadata')], JSON.stringify(misleadingMetadata))
  t.notMatch((await clerk.get('/transfers.csv')).body, /metadata|amountMinor/)
  t.notMatch(JSON.stringify(await ask(clerk, '')), 'amountMinor":"123456"', 'nor does the list')
})

t.test('rejects an unknown language or zone of a file', async (t) => {
  for (const query of ['language=x', 'language=tr-', 'timeZone=Nowhere'])
    for (const path of ['/transfers.csv?', '/statement.csv?from=2026-11-20&to=2026-11-21&'])
      t.equal((await operator.get(`${path}${query}`)).statusCode, 400, `${path}${query}`)
})

t.test('limits a user to two concurrent exports, without a limit on sequential ones', async (t) => {
  for (let n = 0; n < 5; n++) t.equal((await operator.get('/transfers.csv')).statusCode, 200)
})

t.test('the queue of payouts counts and adds up every tab for its viewer', async (t) => {
  const shop = await service.merchant({ name: 'Green', approvalAboveMinor: 200_00n })
  for (const amount of ['10.00', '300.00', '20.50']) await create(shop, 'withdrawal', {}, amount)
  const [clerk, approver] = [
    await signInAs(service, 'operator', [shop.id]),
    await signInAs(service, 'approver', [shop.id]),
  ]
  const queue = async (who: Asking, tab: string) => (await who.get(`/withdrawals/queue?tab=${tab}`)).json()
  const until = async (count: number, tab: string) => {
    for (let n = 0; n < 500; n++) {
      const found = await queue(clerk, tab)
      if (found.items.length === count) return found
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    throw new Error('the projections did not catch up')
  }
  const all = await until(3, 'all')
  t.strictSame(
    all.items.map(({ amountMinor }: Row) => amountMinor),
    [10_00, 300_00, 20_50],
    'oldest first',
  )
  await clerk.post(`/transfers/${all.items[0].trackingId}/claim`, { revision: 0 })
  t.match(await until(1, 'mine'), {
    items: [{ amountMinor: 10_00, claim: { mine: true }, awaitsApproval: false, canPay: true }],
    tabs: [
      { tab: 'unclaimed', count: 2, sumMinor: '32050' },
      { tab: 'mine', count: 1, sumMinor: '1000' },
      { tab: 'approval', count: 0, sumMinor: '0' },
      { tab: 'all', count: 3, sumMinor: '33050' },
    ],
    more: false,
    uncounted: false,
  })
  t.match(await queue(approver, 'approval'), {
    items: [{ amountMinor: 300_00, awaitsApproval: true, canApprove: true }],
    tabs: [{ count: 2 }, { count: 0 }, { tab: 'approval', count: 1 }, { count: 3 }],
  })
  t.match((await queue(clerk, 'unclaimed')).items, [
    { awaitsApproval: true, canApprove: false, canPay: false },
    { amountMinor: 20_50, canPay: true },
  ])
  t.strictSame(
    (await queue(approver, 'all')).items.map(({ canPay }: { readonly canPay: boolean }) => canPay),
    [false, false, true],
    'another user has claimed the first one',
  )
  t.match((await ask(staff, '')).items[0], { canPay: false })
  await clerk.post(`/transfers/${all.items[0].trackingId}/complete`, { revision: 1 })
  t.match(await until(2, 'all'), { tabs: [{ count: 2 }, { tab: 'mine', count: 0 }, { count: 0 }, { count: 2 }] })
  t.equal((await staff.get('/withdrawals/queue')).statusCode, 403)
})
