import t from 'tap'
import { pageModule } from './page-module.js'

interface Days {
  readonly from: string
  readonly to: string
}

const { daysOf, timesOf, lastMonth, lastDays } = await pageModule<{
  daysOf(search: Partial<Days>, nowMs: number): Days
  timesOf(days: Days): Days
  lastMonth(nowMs: number): Days
  lastDays(count: number, nowMs: number): Days
}>('pages/statement/statement-days.ts')
const { totalsOf } = await pageModule<{ totalsOf(rows: readonly object[]): readonly object[] }>(
  'pages/statement/statement-totals.ts',
)

const nowMs = Date.parse('2026-03-01T00:30:00.000Z')

t.test('a statement covers whole days in UTC', async (t) => {
  t.strictSame(daysOf({ from: '2026-02-27', to: '2026-02-28' }, nowMs), { from: '2026-02-27', to: '2026-02-28' })
  t.strictSame(timesOf({ from: '2026-02-27', to: '2026-02-28' }), {
    from: '2026-02-27T00:00:00.000Z',
    to: '2026-03-01T00:00:00.000Z',
  })
  t.strictSame(lastMonth(nowMs), { from: '2026-02-01', to: '2026-02-28' })
  t.strictSame(lastDays(7, nowMs), { from: '2026-02-23', to: '2026-03-01' })
})

t.test('the default period is the current month, also if the address has an invalid one', async (t) => {
  const thisMonth = { from: '2026-03-01', to: '2026-03-01' }
  t.strictSame(daysOf({}, nowMs), thisMonth)
  t.strictSame(daysOf({ from: '2026-02-28', to: 'yesterday' }, nowMs), thisMonth)
  t.strictSame(daysOf({ from: '2026-02-30', to: '2026-03-31' }, nowMs), thisMonth)
  t.strictSame(daysOf({ from: '2026-02-28', to: '2026-02-01' }, nowMs), thisMonth)
})

t.test('adds up moved amounts without rounding, and takes balances of the first and the last day', async (t) => {
  const large = '9007199254740993'
  const counts = { requestedCount: 2, completedCount: 1 }
  const sums = { mismatchMinor: '-5', returnedMinor: '7', resolvedMinor: '1', receivedMinor: large, kind: 'deposit' }
  const last = { openCount: 3, openMinor: '60', openingMinor: '4', heldMinor: '5' }
  const first = { openCount: 1, openMinor: '9', openingMinor: '3', heldMinor: '4' }
  const rows = [
    { ...counts, ...sums, ...last, day: '2026-02-28', requestedMinor: large, completedMinor: '40' },
    { ...counts, ...sums, ...first, day: '2026-02-27', requestedMinor: large, completedMinor: '2' },
  ]
  t.strictSame(totalsOf(rows), [
    {
      kind: 'deposit',
      requestedCount: 4,
      requestedMinor: 18_014_398_509_481_986n,
      openingMinor: '3',
      receivedMinor: 18_014_398_509_481_986n,
      completedCount: 2,
      completedMinor: 42n,
      mismatchMinor: -10n,
      returnedMinor: 14n,
      resolvedMinor: 2n,
      heldMinor: '5',
      openCount: 3,
      openMinor: '60',
    },
  ])
})
