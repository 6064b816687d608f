import t from 'tap'
import { pageModule } from './page-module.js'

interface Money {
  readonly kind: 'deposit' | 'withdrawal'
  readonly amountMinor: number
  readonly transactionAmountMinor: number
  readonly hasAmountMismatch: boolean
  readonly receivedMinor: number
  readonly unsettledMinor: number
}

const { differenceMinor, expectedMinor } = await pageModule<{
  differenceMinor(detail: Money): number
  expectedMinor(detail: Money): number
}>('pages/transfer/transfer-amounts.ts')

const pending: Money = {
  ...{ kind: 'deposit', amountMinor: 10_000, transactionAmountMinor: 0, hasAmountMismatch: false },
  ...{ receivedMinor: 0, unsettledMinor: 0 },
}

t.test('shows a difference only if the server reports one and money was moved', async (t) => {
  t.equal(differenceMinor(pending), 0)
  t.equal(
    differenceMinor({ ...pending, transactionAmountMinor: 9_900 }),
    0,
    'a difference within the tolerance is not shown',
  )
  t.equal(differenceMinor({ ...pending, transactionAmountMinor: 9_000, hasAmountMismatch: true }), -1_000)
  t.equal(differenceMinor({ ...pending, transactionAmountMinor: 12_000, hasAmountMismatch: true }), 2_000)
  t.equal(differenceMinor({ ...pending, hasAmountMismatch: true }), 0, 'a fully returned amount shows no difference')
})

t.test('a completion defaults to the unsettled money, or to the requested amount if none was received', async (t) => {
  t.equal(expectedMinor(pending), 10_000)
  t.equal(expectedMinor({ ...pending, receivedMinor: 9_000, unsettledMinor: 4_000 }), 4_000)
  t.equal(expectedMinor({ ...pending, kind: 'withdrawal' }), 10_000)
})

t.test('a timeline entry shows the main fields in order and keeps the rest', async (t) => {
  const { timelineFields } = await pageModule<{
    timelineFields(item: { readonly data: Readonly<Record<string, unknown>> }): {
      readonly shown: readonly (readonly [string, unknown])[]
      readonly rest: readonly (readonly [string, unknown])[]
    }
  }>('pages/transfer/timeline-fields.ts')
  const data = {
    ...{ trackingId: 'x', reason: 'HTTP 500', httpStatus: 500, attempt: 2, receiptUrl: null },
    ...{ transactionAmountMinor: '0', addedField: { of: 'a newer version' } },
  }
  const { shown, rest } = timelineFields({ data })
  t.strictSame(shown, [
    ['attempt', 2],
    ['httpStatus', 500],
    ['reason', 'HTTP 500'],
  ])
  t.strictSame(rest, [
    ['trackingId', 'x'],
    ['transactionAmountMinor', '0'],
    ['addedField', { of: 'a newer version' }],
  ])
})
