import fc from 'fast-check'
import t from 'tap'
import type { Status } from '../../src/domain/transfer/status.js'
import { pageModule } from './page-module.js'

interface Bucket {
  readonly start: string
  readonly kind: 'deposit' | 'withdrawal'
  readonly status: Status
  readonly count: number
  readonly amountMinor: string
  readonly transactionAmountMinor: string
}

interface LiveChanges {
  add(message: { readonly changes: readonly Bucket[]; readonly transfers: readonly never[] }): void
  startFetch(): void
  completeFetch(): void
  list(): readonly Bucket[]
}

type ByStatus<Value> = Readonly<Record<Status, Value>>

interface Options {
  readonly kind: Bucket['kind']
  readonly measure: 'count' | 'amount'
  readonly bucketMs: number
  readonly fromMs: number
  readonly toMs: number
}

const totals = await pageModule<{
  LiveChanges: new () => LiveChanges
  totalsByStatus(buckets: readonly Bucket[], kind: Bucket['kind']): ByStatus<{ readonly count: number }>
  completionRate(totals: ByStatus<{ readonly count: number }>): number | null
  timeSeries(
    buckets: readonly Bucket[],
    options: Options,
  ): { readonly times: readonly number[]; readonly values: ByStatus<readonly number[]> }
}>('pages/overview/overview-totals.ts')

const chart = await pageModule<{
  barsOf(
    series: ReturnType<typeof totals.timeSeries>,
    compared: { readonly shiftMs: number; readonly before: readonly Bucket[] },
    options: Options,
    nowMs: number,
  ): readonly {
    readonly requested: number | undefined
    readonly done: number | undefined
    readonly before: number
    readonly isRunning: boolean
  }[]
  roundedTop(value: number): { readonly value: number; readonly step: number; readonly steps: number }
}>('pages/overview/chart-bars.ts')

const hourMs = 3_600_000
const startMs = Date.parse('2026-11-21T00:00:00.000Z')
const statuses = ['Pending', 'Completed', 'ManualControl', 'Cancelled', 'Failed'] as const

const bucket = fc.record<Bucket>({
  start: fc.integer({ min: 0, max: 23 }).map((hour) => new Date(startMs + hour * hourMs).toISOString()),
  kind: fc.constantFrom('deposit', 'withdrawal'),
  status: fc.constantFrom(...statuses),
  count: fc.nat(500),
  amountMinor: fc.bigInt({ min: 0n, max: 2n ** 60n }).map(String),
  transactionAmountMinor: fc.nat(1e9).map(String),
})

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

t.test('bars end with the running hour, and the day before continues', async (t) => {
  fc.assert(
    fc.property(
      fc.array(bucket),
      fc.array(bucket),
      fc.integer({ min: 0, max: 24 * 60 - 1 }),
      (today, other, minute) => {
        const options = {
          kind: 'deposit',
          measure: 'count',
          bucketMs: hourMs,
          fromMs: startMs,
          toMs: startMs + 24 * hourMs,
        } as const
        const before = other.map((each) => ({
          ...each,
          start: new Date(Date.parse(each.start) - 24 * hourMs).toISOString(),
        }))
        const hour = Math.floor(minute / 60)
        const nowMs = startMs + minute * 60_000
        const bars = chart.barsOf(totals.timeSeries(today, options), { shiftMs: 24 * hourMs, before }, options, nowMs)
        t.strictSame(bars.map(({ isRunning }) => isRunning).indexOf(true), hour)
        t.ok(
          bars.every(
            ({ requested, done }, index) =>
              (requested === undefined) === index > hour && (done === undefined) === index > hour,
          ),
        )
        const created = other.filter(({ kind, status }) => kind === 'deposit' && status === 'Pending')
        t.equal(sum(bars.map((bar) => bar.before)), sum(created.map(({ count }) => count)))
      },
    ),
  )
})

t.test('an axis has at most four round steps and contains every value', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e15 }), (value) => {
      const { value: top, step, steps } = chart.roundedTop(value)
      t.ok(top >= value && steps >= 1 && steps <= 4 && top === step * steps, `${value}: ${steps} of ${step}`)
      t.match(String(step), /^(1|2|25|3|5)0*$/)
    }),
  )
})

t.test('live changes keep their sums in a bounded number of buckets', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.array(bucket, { maxLength: 20 }), { maxLength: 50 }), (messages) => {
      const changes = new totals.LiveChanges()
      for (const each of messages) changes.add({ changes: each, transfers: [] })
      const list = changes.list()
      t.equal(sum(list.map(({ count }) => count)), sum(messages.flat().map(({ count }) => count)))
      const amount = (buckets: readonly Bucket[]) =>
        buckets.reduce((total, each) => total + BigInt(each.amountMinor), 0n)
      t.equal(amount(list), amount(messages.flat()))
      return list.length <= 24 * 2 * statuses.length
    }),
  )
})

t.test('a fetch replaces the live changes that arrived before it started, and no others', async (t) => {
  const change = (count: number): Bucket => ({
    ...{ start: new Date(startMs).toISOString(), kind: 'deposit', status: 'Completed' },
    ...{ count, amountMinor: String(count), transactionAmountMinor: String(count) },
  })
  const counted = (changes: LiveChanges) => sum(changes.list().map(({ count }) => count))
  const changes = new totals.LiveChanges()
  changes.add({ changes: [change(1)], transfers: [] })
  changes.startFetch()
  changes.add({ changes: [change(10)], transfers: [] })
  t.equal(counted(changes), 11, 'nothing is dropped during a fetch')
  changes.completeFetch()
  t.equal(counted(changes), 10, 'the response may lack changes that arrived during the fetch')
  changes.startFetch()
  changes.add({ changes: [change(100)], transfers: [] })
  changes.startFetch()
  t.equal(counted(changes), 110, 'a failed fetch drops nothing')
  changes.completeFetch()
  t.equal(counted(changes), 0)
})

t.test('a series has a value for every bucket, and its sums equal the totals', async (t) => {
  fc.assert(
    fc.property(fc.array(bucket, { maxLength: 200 }), fc.constantFrom(1, 24), (buckets, hours) => {
      const bucketMs = hours * hourMs
      const range = { bucketMs, fromMs: startMs, toMs: startMs + 24 * hourMs }
      for (const kind of ['deposit', 'withdrawal'] as const) {
        const { times, values } = totals.timeSeries(buckets, { ...range, kind, measure: 'count' })
        t.equal(times.length, 24 / hours)
        const counts = totals.totalsByStatus(buckets, kind)
        for (const status of statuses) t.equal(sum(values[status]), counts[status].count)
      }
    }),
    { numRuns: 30 },
  )
  const completed: Bucket = {
    ...{ start: new Date(startMs + hourMs).toISOString(), kind: 'deposit', status: 'Completed' },
    ...{ count: 2, amountMinor: '1000', transactionAmountMinor: '900' },
  }
  const options = { bucketMs: hourMs, fromMs: startMs, toMs: startMs + 2 * hourMs + 1, kind: 'deposit' } as const
  const { values } = totals.timeSeries([completed, { ...completed, status: 'Failed' }], {
    ...options,
    measure: 'amount',
  })
  t.strictSame(values.Completed, [0, 900, 0], 'a completed transfer counts with its transaction amount')
  t.strictSame(values.Failed, [0, 1000, 0], 'any other transfer counts with its requested amount')
  const outside = { ...completed, start: new Date(startMs + 9 * hourMs).toISOString() }
  t.equal(sum(totals.timeSeries([outside], { ...options, measure: 'count' }).values.Completed), 0)
})

t.test('the completion rate counts only ended transfers', async (t) => {
  const of = (counts: Partial<ByStatus<number>>) =>
    totals.completionRate(
      Object.fromEntries(statuses.map((status) => [status, { count: counts[status] ?? 0 }])) as ByStatus<{
        readonly count: number
      }>,
    )
  t.equal(of({ Pending: 5, ManualControl: 3 }), null, 'the rate is null if no transfer has ended')
  t.equal(of({ Pending: 90, Completed: 3, Cancelled: 1 }), 0.75)
  t.equal(of({ Failed: 2 }), 0)
})

t.test('the default range is exactly the viewer’s current day', async (t) => {
  const zoneBefore = process.env.TZ
  t.teardown(() => {
    process.env.TZ = zoneBefore ?? 'UTC'
  })
  const { rangeOf } = await pageModule<{
    rangeOf(range: { from?: string; to?: string }, now: Date): { readonly from: string; readonly to: string }
  }>('pages/overview/overview-range.ts')
  const now = new Date('2026-11-21T22:30:00.000Z')
  process.env.TZ = 'Europe/Istanbul'
  t.strictSame(rangeOf({}, now), { from: '2026-11-21T21:00:00.000Z', to: '2026-11-22T21:00:00.000Z' })
  process.env.TZ = 'Asia/Kolkata'
  const kolkata = rangeOf({}, now)
  t.strictSame(kolkata, { from: '2026-11-21T18:30:00.000Z', to: '2026-11-22T18:30:00.000Z' })
  t.strictSame(rangeOf({ from: 'yesterday', to: '2026-11-25T10:20:00Z' }, now), {
    from: kolkata.from,
    to: '2026-11-25T10:30:00.000Z',
  })
})
