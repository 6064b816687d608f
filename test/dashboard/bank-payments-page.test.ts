import t from 'tap'
import { pageModule } from './page-module.js'

interface Payment {
  readonly paymentId: string
  readonly accountId: string
  readonly date: string
  readonly status: string
}
type Known = ReadonlyMap<string, { readonly payment: Payment; readonly atMs: number }>

const { withKnown } = await pageModule<{
  withKnown(
    listed: { readonly items: readonly Payment[]; readonly fetchedMs: number },
    known: Known,
    filter: { readonly account?: string; readonly from?: string; readonly to?: string },
  ): readonly Payment[]
}>('pages/bank/known-payments.ts')
const { sumsOf, byAccount } = await pageModule<{
  sumsOf(days: readonly object[]): Record<string, bigint>
  byAccount(days: readonly object[]): readonly (readonly [string, readonly object[]])[]
}>('pages/bank/reconciliation-days.ts')

const paymentOf = (paymentId: string, changes: Partial<Payment> = {}): Payment => {
  return { paymentId, accountId: 'A', date: '2026-03-02', status: 'open', ...changes }
}
const knownOf = (atMs: number, ...payments: readonly Payment[]): Known =>
  new Map(payments.map((payment) => [payment.paymentId, { payment, atMs }]))

t.test('a decided payment keeps its place, and the newer of two states is shown', async (t) => {
  const items = [paymentOf('1'), paymentOf('2')]
  const known = knownOf(2, paymentOf('1', { status: 'used' }))
  t.match(withKnown({ items, fetchedMs: 1 }, known, {}), [{ status: 'used' }, { status: 'open' }])
  const later = [paymentOf('1', { status: 'explained' }), paymentOf('2')]
  t.match(withKnown({ items: later, fetchedMs: 3 }, known, {}), [{ status: 'explained' }, { status: 'open' }])
  t.match(withKnown({ items: [paymentOf('2')], fetchedMs: 3 }, known, {}), [{ status: 'used' }, { paymentId: '2' }])
})

t.test('imported payments are shown before the list contains them, the latest day first', async (t) => {
  const items = [paymentOf('1', { date: '2026-03-03' }), paymentOf('2', { date: '2026-03-01' })]
  const shown = withKnown({ items, fetchedMs: 1 }, knownOf(2, paymentOf('3')), {})
  t.strictSame(
    shown.map(({ paymentId }) => paymentId),
    ['1', '3', '2'],
  )
})

t.test('imported payments of other accounts and days are not shown', async (t) => {
  const known = knownOf(2, paymentOf('1'))
  const shown = (filter: object) => withKnown({ items: [], fetchedMs: 1 }, known, filter).length
  t.equal(shown({ account: 'A', from: '2026-03-02', to: '2026-03-02' }), 1)
  for (const filter of [{ account: 'B' }, { from: '2026-03-03' }, { to: '2026-03-01' }]) t.equal(shown(filter), 0)
})

t.test('the sums of a reconciliation are exact beyond 2^53', async (t) => {
  const zeros = {
    ...{ filesMinor: '0', debitBookedMinor: '0', debitCompletedMinor: '0', debitExplainedMinor: '0' },
    ...{ debitOpenMinor: '0', creditBookedMinor: '0', creditReceivedMinor: '0', creditReturnedMinor: '0' },
    ...{ creditExplainedMinor: '0', creditOpenMinor: '9007199254740993' },
  }
  const days = [
    { ...zeros, accountId: 'B', date: '2' },
    { ...zeros, accountId: 'A', date: '2' },
    { ...zeros, accountId: 'B', date: '1' },
  ]
  t.equal(sumsOf(days).creditOpenMinor, 27_021_597_764_222_979n)
  t.match(
    byAccount(days).map(([account, own]) => [account, own.length]),
    [
      ['A', 1],
      ['B', 2],
    ],
  )
})
