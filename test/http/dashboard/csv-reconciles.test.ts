import t, { type Test } from 'tap'
import { dateIn } from '../../../src/kernel/time.js'
import { signInAs } from '../../support/dashboard.js'
import { createBody, manualDeposits, paths, paymentMethods, post } from '../../support/merchant-requests.js'
import { cellOf, rawCells } from '../../support/spreadsheet.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'
import { until } from '../../support/until.js'

let nowMs = Date.parse('2026-10-20T09:10:00.000Z')
const clock = () => new Date(nowMs).toISOString()
const service = await startTestService({
  ...{ projections: true, clock },
  configuration: { paymentMethods: [...paymentMethods, manualDeposits] },
})
t.teardown(() => destroyTestService(service))
const shop = await service.merchant({ name: '007' })
const strict = await service.merchant({ name: 'Şükrü; "A" =1', autoCancelMismatch: true })
const context = { actor: 'test', $correlationId: 'c', $causationId: 'c' }

type Step = (trackingId: string) => Promise<{ readonly accepted: boolean }>
type Action = Parameters<typeof service.transfers.act>[1]

const act =
  (action: Action): Step =>
  (trackingId) =>
    service.transfers.act(trackingId, action, context)
const complete = (minor: bigint) =>
  act({ type: 'Complete', transactionAmountMinor: minor, confirmedAmountMinor: minor, reason: 'as the bank states' })
const correct = (amountMinor: bigint) =>
  act({ type: 'Correct', amountMinor, confirmedAmountMinor: amountMinor, reason: 'mistyped' })
let payments = 0
const part = (receivedAmountMinor: bigint) =>
  act({ type: 'ReceivePart', receivedAmountMinor, reference: `FT-${payments++}` })
const sendBack = (returnedAmountMinor: bigint) =>
  act({ type: 'ReturnPayout', returnedAmountMinor, reasonCode: 'AC04', reference: `RT-${payments++}` })
const cancel = act({ type: 'Cancel', message: null })
const reopen = act({ type: 'Reopen', reason: 'paid later' })
const review = act({ type: 'SendToManualControl', message: null })
const resolve = act({ type: 'ResolveAttention', reason: 'credited' })
let receipts = 0
const receive =
  (receivedAmountMinor: bigint): Step =>
  (trackingId) => {
    const receiptUrl = `https://r.example/${receipts++}`
    return service.transfers.receiveFunds(trackingId, receipts, { receivedAmountMinor, receiptUrl }, context)
  }
const giveBack = (amountMinor: bigint) => {
  const receiptUrl = `https://r.example/out/${receipts++}`
  return act({ type: 'ReturnFunds', amountMinor, receiptUrl })
}

let refunds = 0
/** Refunds a deposit, and completes, cancels or releases the withdrawal. */
const refund =
  (amountMinor: bigint, type: 'Complete' | 'Cancel' | 'Release'): Step =>
  async (trackingId) => {
    const referenceId = `refund ${refunds++}`
    const account = { to: 'account', accountNumber: 'TR33' } as const
    const request = { type: 'RequestRefund', referenceId, amountMinor, ...account } as const
    const requested = await service.transfers.act(trackingId, request, context)
    if (!requested.accepted || requested.transfer.kind !== 'deposit') throw new Error('the refund was refused')
    const { refundId } = requested.transfer.refunds.at(-1)!
    return service.transfers.act(refundId, type === 'Cancel' ? { type, message: null } : { type }, context)
  }

const deposits: readonly (readonly Step[])[] = [
  [],
  [complete(100_50n)],
  [complete(95_25n)],
  [complete(120_00n)],
  [receive(100_50n)],
  [receive(80_00n), receive(15_00n), giveBack(5_00n), resolve],
  [cancel, receive(100_50n), giveBack(40_25n), giveBack(60_25n)],
  [cancel, receive(90_00n), reopen, complete(90_00n), receive(1_01n)],
  [cancel, receive(50_00n), receive(20_00n), giveBack(30_00n), resolve, receive(7_77n)],
  [act({ type: 'Fail', message: null }), receive(33_33n)],
  [review, receive(60_00n), complete(100_50n), resolve],
  [review, receive(150_00n), complete(100_50n), giveBack(49_50n)],
  [review],
  [part(60_00n)],
  [part(60_00n), part(40_50n)],
  [part(60_00n), complete(60_00n), part(7_00n)],
  [complete(195_00n), correct(95_00n)],
  [complete(95_00n), correct(195_00n), correct(100_50n)],
  [review, receive(150_00n), complete(150_00n), correct(100_00n), giveBack(20_00n)],
  [complete(100_50n), refund(30_00n, 'Complete'), refund(20_00n, 'Cancel')],
  [review, receive(150_00n), complete(100_50n), refund(60_00n, 'Complete'), refund(1_00n, 'Release')],
]
const withdrawals: readonly (readonly Step[])[] = [
  [],
  [complete(100_50n)],
  [complete(99_00n)],
  [cancel],
  [review, complete(100_50n)],
  [complete(99_00n), correct(100_50n)],
  [complete(100_50n), sendBack(100_50n)],
  [complete(100_50n), sendBack(60_00n), resolve, sendBack(10_00n), correct(90_00n)],
  [review, complete(99_00n), sendBack(9_00n), resolve],
]

let changes = 0
for (const merchant of [shop, strict])
  for (const [kind, histories] of [
    ['hosted', deposits],
    ['withdrawal', withdrawals],
  ] as const)
    for (const [index, steps] of histories.entries()) {
      const method = kind === 'hosted' ? { paymentMethod: 7 } : {}
      const fields = { referenceId: `1E5-${kind}-${index}`, name: '=1+1', userId: '000123', ...method }
      const body = createBody(kind, merchant.secretKey, fields, '100.50')
      const response = await post(service.app, paths[kind], body, { key: merchant.webApiKey })
      if (response.statusCode !== 200) throw new Error(response.body)
      const answer = response.json()
      const { trackingId } = answer.result ?? answer
      for (const step of steps) {
        // Not a whole number of days, so that the changes are at all times of the day in every zone.
        nowMs += 7 * 3_600_000 + 11 * 60_000
        const result = await step(trackingId)
        if (result.accepted) changes++
        else if (merchant === shop)
          throw new Error(`${kind} ${index}: ${JSON.stringify(result, (_, value) => String(value))}`)
      }
    }
const auditor = await signInAs(service, 'auditor')
const viewer = await signInAs(service, 'viewer', [shop.id])
const period = 'from=2026-10-01&to=2026-12-20'

type Line = { readonly [column: string]: string }

/** Returns the lines as a spreadsheet of the language reads them. */
function linesOf(file: string, separator: string): Line[] {
  const [head = [], ...rows] = rawCells(file, separator)
  return rows.map((row) =>
    Object.fromEntries(
      row.map((raw, index) => {
        const cell = cellOf(raw)
        return [head[index]!, cell.is === 'text' ? cell.text : raw]
      }),
    ),
  )
}

const minor = (text: string | undefined) => {
  if (!/^-?\d+[.,]\d\d$/.test(text ?? '')) throw new Error(`${text} is not an amount`)
  return BigInt(text!.replace(/[.,]/, ''))
}
const sum = (lines: readonly Line[], column: string) => lines.reduce((total, line) => total + minor(line[column]), 0n)

async function body(who: typeof auditor, path: string): Promise<string> {
  const response = await who.get(path)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.body
}

await until(async () => {
  const { items } = (await auditor.get(`/statement?${period}`)).json()
  const listed = linesOf(await body(auditor, '/transfers-exact.csv'), ',')
  const held = ['deposit', 'withdrawal'].map((kind) => {
    const { heldMinor = 0 } = items.findLast((item: { readonly kind: string }) => item.kind === kind) ?? {}
    return BigInt(heldMinor)
  })
  const count = 2 * (deposits.length + withdrawals.length) + refunds
  return listed.length === count && sum(listed, 'held') === held[0]! + held[1]!
})

/** Adds up the transfers of each day, and compares the sums with the statement. */
function compare(t: Test, transfers: readonly Line[], statement: readonly Line[]): void {
  for (const kind of ['deposit', 'withdrawal']) {
    const all = transfers.filter((line) => line.kind === kind)
    const days = statement.filter((line) => line.kind === kind)
    t.ok(days.length > 1)
    // The statement counts a correction on its own day.
    const first = (some: readonly Line[]) => sum(some, 'booked') - sum(some, 'corrected')
    const on = (column: string, day: string | undefined) => all.filter((line) => line[column]?.slice(0, 10) === day)
    for (const line of days) {
      const created = on('createdAt', line.day)
      const completed = on('completedAt', line.day)
      t.same(
        [line.requestedCount, minor(line.requested), line.completedCount, minor(line.booked), minor(line.mismatch)],
        [
          ...[String(created.length), sum(created, 'amount'), String(completed.length), first(completed)],
          first(completed) - sum(completed, 'amount'),
        ],
        `${kind} on ${line.day}`,
      )
    }
    for (const column of ['received', 'corrected', 'returned', 'refunded', 'kept', 'resolved'])
      t.equal(sum(days, column), sum(all, column), `${kind} ${column}`)
    t.equal(sum(days, 'booked') + sum(days, 'corrected'), sum(all, 'booked'), `${kind} booked`)
    t.equal(sum(days, 'requested'), sum(all, 'amount'), 'no day is missing')
    const open = all.filter(({ status }) => status === 'Pending' || status === 'ManualControl')
    const last = days.at(-1)!
    t.same([last.openCount, minor(last.open)], [String(open.length), sum(open, 'amount')])
    t.equal(minor(last.held), sum(all, 'held'))
  }
  for (const line of transfers.filter(({ kind }) => kind === 'withdrawal')) {
    t.equal(minor(line.booked), minor(line.kept) + minor(line.returned), 'the paid money of each withdrawal adds up')
    t.equal(minor(line.returned), minor(line.resolved) + minor(line.held), 'and the money that came back')
  }
  for (const line of transfers.filter(({ kind }) => kind === 'deposit')) {
    const spent = ['booked', 'returned', 'resolved', 'held'].reduce((total, each) => total + minor(line[each]), 0n)
    t.equal(minor(line.received), spent - minor(line.refunded), 'the money of each deposit adds up')
    t.ok(minor(line.late) <= minor(line.received))
  }
}

t.test('the sums of the transfers are those of the statement, for people of every language and zone', async (t) => {
  t.ok(changes > 50)
  for (const [language, separator] of [
    ['en', ','],
    ['tr', ';'],
    ['de', ';'],
  ] as const)
    for (const timeZone of ['UTC', 'Europe/Istanbul', 'Pacific/Chatham', 'America/New_York'])
      for (const [who, merchantId] of [
        [auditor, ''],
        [auditor, strict.id],
        [viewer, shop.id],
      ] as const) {
        const query = `${period}&timeZone=${timeZone}&language=${language}${merchantId && `&merchantId=${merchantId}`}`
        const transfers = linesOf(await body(who, `/transfers.csv?${query}`), separator)
        const statement = linesOf(await body(who, `/statement.csv?${query}`), separator)
        t.ok(transfers.length >= deposits.length + withdrawals.length)
        t.ok([...transfers, ...statement].every((line) => line.timeZone === timeZone))
        compare(t, transfers, statement)
      }
})

t.test('the same for programs, which convert the times to the zone of the statement', async (t) => {
  const exact = linesOf(await body(auditor, `/transfers-exact.csv?${period}`), ',')
  t.ok(exact.every((line) => line.timeZone === 'UTC'))
  for (const timeZone of ['UTC', 'Europe/Istanbul', 'Pacific/Chatham']) {
    const statement = linesOf(await body(auditor, `/statement-exact.csv?${period}&timeZone=${timeZone}`), ',')
    t.ok(statement.every((line) => line.timeZone === timeZone))
    const dayOf = (time: string | undefined) => (time ? dateIn(timeZone, time) : '')
    const transfers = exact.map((line) => {
      return { ...line, createdAt: dayOf(line.createdAt), completedAt: dayOf(line.completedAt) }
    })
    compare(t, transfers, statement)
  }
})

t.test('a line names its merchant, its period and its late money', async (t) => {
  const query = `from=2026-10-19T21:00:00Z&to=2026-10-31T21:00:00Z&timeZone=Europe/Istanbul&language=tr&merchantId=${strict.id}`
  for (const line of linesOf(await body(auditor, `/statement.csv?${query}`), ';')) {
    const { merchant, merchantId, periodFrom, periodTo } = line
    t.same(
      { merchant, merchantId, periodFrom, periodTo },
      { merchant: 'Şükrü; "A" =1', merchantId: strict.id, periodFrom: '2026-10-20', periodTo: '2026-10-31' },
    )
  }
  const transfers = linesOf(await body(auditor, `/transfers.csv?merchantId=${shop.id}&text=1E5-hosted-8`), ',')
  t.hasStrict(transfers, [
    {
      ...{ merchant: '007', merchantId: shop.id, referenceId: '1E5-hosted-8', userId: '000123', name: '=1+1' },
      ...{ status: 'Cancelled', completedAt: '', received: '77.77', booked: '0.00', returned: '30.00' },
      ...{ resolved: '40.00', held: '7.77', late: '77.77' },
    },
  ])
  const [reopened] = linesOf(await body(auditor, `/transfers.csv?merchantId=${shop.id}&text=1E5-hosted-7`), ',')
  const [reviewed] = linesOf(await body(auditor, `/transfers.csv?merchantId=${shop.id}&text=1E5-hosted-10`), ',')
  t.hasStrict(reviewed, { status: 'Completed', received: '100.50', late: '0.00' }, 'money before the end is not late')
  t.match(reopened?.completedAt, /^2026-1/)
  t.hasStrict(reopened, { status: 'Completed', received: '91.01', booked: '90.00', late: '91.01' })
})
