import t from 'tap'
import { dayAfter, startOfDay } from '../../src/queries/zone-days.js'
import { pageModule } from './page-module.js'

interface Days {
  readonly from: string
  readonly to: string
}

const { daysOf, periodOf, lastMonth, lastDays } = await pageModule<{
  daysOf(search: Partial<Days>, nowMs: number): Days
  periodOf(days: Days): Days & { readonly timeZone: string }
  lastMonth(nowMs: number): Days
  lastDays(count: number, nowMs: number): Days
}>('pages/statement/statement-days.ts')
const { totalsOf } = await pageModule<{ totalsOf(rows: readonly object[]): readonly object[] }>(
  'pages/statement/statement-totals.ts',
)

const nowMs = Date.parse('2026-03-01T00:30:00.000Z')

const zoneBefore = process.env.TZ
t.afterEach(() => {
  process.env.TZ = zoneBefore ?? 'UTC'
})

/** Versions of ICU differ in whether Asia/Kolkata or Asia/Calcutta names the zone. */
function canonicalZone(timeZone: string): string {
  return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
}

t.test(
  'a statement covers whole days of the viewer, also in zones of half hours and over a change of the clocks',
  async (t) => {
    const zones = ['UTC', 'Europe/Istanbul', 'Asia/Kolkata', 'Pacific/Chatham', 'America/New_York', 'America/Havana']
    for (const timeZone of zones) {
      process.env.TZ = timeZone
      for (const [from, to] of [
        ['2026-02-27', '2026-02-28'],
        ['2026-03-08', '2026-04-05'],
      ] as const) {
        t.strictSame(daysOf({ from, to }, nowMs), { from, to })
        const end = startOfDay(timeZone, dayAfter(to))
        const { timeZone: zone, ...period } = periodOf({ from, to })
        t.strictSame(period, { from: startOfDay(timeZone, from), to: end })
        t.equal(canonicalZone(zone), canonicalZone(timeZone))
      }
    }
  },
)

t.test('today, the last days and the last month are those of the viewer', async (t) => {
  process.env.TZ = 'Asia/Kolkata'
  t.strictSame(lastMonth(nowMs), { from: '2026-02-01', to: '2026-02-28' })
  t.strictSame(lastDays(7, nowMs), { from: '2026-02-23', to: '2026-03-01' })
  process.env.TZ = 'America/New_York'
  t.strictSame(daysOf({}, nowMs), { from: '2026-02-01', to: '2026-02-28' })
  t.strictSame(lastMonth(nowMs), { from: '2026-01-01', to: '2026-01-31' })
  t.strictSame(lastDays(7, nowMs), { from: '2026-02-22', to: '2026-02-28' })
})

t.test('the default period is the current month, also if the address has an invalid one', async (t) => {
  process.env.TZ = 'UTC'
  const thisMonth = { from: '2026-03-01', to: '2026-03-01' }
  t.strictSame(daysOf({}, nowMs), thisMonth)
  t.strictSame(daysOf({ from: '2026-02-28', to: 'yesterday' }, nowMs), thisMonth)
  t.strictSame(daysOf({ from: '2026-02-30', to: '2026-03-31' }, nowMs), thisMonth)
  t.strictSame(daysOf({ from: '2026-02-28', to: '2026-02-01' }, nowMs), thisMonth)
})

t.test('adds up moved amounts without rounding, and takes balances of the first and the last day', async (t) => {
  const large = '9007199254740993'
  const counts = { requestedCount: 2, completedCount: 1, correctedCount: 1, correctedMinor: '-3', keptMinor: '2' }
  const sums = {
    mismatchMinor: '-5',
    returnedMinor: '7',
    refundedMinor: '3',
    resolvedMinor: '1',
    receivedMinor: large,
    kind: 'deposit',
  }
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
      correctedCount: 2,
      correctedMinor: -6n,
      returnedMinor: 14n,
      keptMinor: 4n,
      refundedMinor: 6n,
      resolvedMinor: 2n,
      heldMinor: '5',
      openCount: 3,
      openMinor: '60',
    },
  ])
})
