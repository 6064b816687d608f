import { deepStrictEqual, equal } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  afterAll,
  type CountedPayouts,
  countOf,
  exceededLimits,
  type PayoutEvent,
  payoutDecider,
} from '../../src/domain/counted-payouts.js'
import { exceededText } from '../../src/domain/refusal-texts.js'
import type { ExceededLimit, WithdrawalLimit } from '../../src/domain/withdrawal-limits.js'
import { areLooser, limitScopes, limitsOf } from '../../src/domain/withdrawal-limits.js'
import { addMs, dayMs, hourMs } from '../../src/kernel/time.js'
import { specification } from '../support/given-when-then.js'
import { merchantId } from './merchant-samples.js'

const { given, fold } = specification(payoutDecider)
const start = '2026-03-01T10:00:00.000Z'
const after = (ms: number) => addMs(start, ms)

interface Sample {
  readonly trackingId: string
  readonly amountMinor?: bigint
  readonly accountMac?: string
  readonly customerMac?: string
  readonly at?: string
}

const payout = ({ amountMinor = 100_00n, accountMac = 'a', customerMac = 'c', at = start, ...of }: Sample) => ({
  ...{ merchantId, at, amountMinor, accountMac, customerMac },
  ...of,
})
const counted = (sample: Sample, exceeded: readonly ExceededLimit[] = []): PayoutEvent => ({
  type: 'PayoutCounted',
  data: { ...payout(sample), exceeded },
})
const uncounted = (trackingId: string, at = start): PayoutEvent => ({
  type: 'PayoutUncounted',
  data: { merchantId, trackingId, at },
})
const count = (sample: Sample, ...limits: WithdrawalLimit[]) => ({ type: 'Count', limits, ...payout(sample) }) as const
const uncount = (trackingId: string, at = start) => ({ type: 'Uncount', merchantId, trackingId, at }) as const
const limit = (changes: Partial<WithdrawalLimit>): WithdrawalLimit => ({
  ...{ per: 'merchant', hours: 24, count: null, amountMinor: null },
  ...changes,
})
const met = (of: WithdrawalLimit, actualCount: number, actualMinor: bigint) => ({ ...of, actualCount, actualMinor })

t.test(
  'a payout beyond the largest number or the largest sum is counted with the limits that it is beyond',
  async () => {
    const [two, sum] = [limit({ count: 2 }), limit({ amountMinor: 300_00n })]
    given()
      .when(count({ trackingId: '1' }, two, sum))
      .then([counted({ trackingId: '1' })])
    const history = [counted({ trackingId: '1' }), counted({ trackingId: '2' })]
    given(history[0]!)
      .when(count({ trackingId: '2' }, two, sum))
      .then([history[1]!])
    given(...history)
      .when(count({ trackingId: '3' }, two, sum))
      .then([counted({ trackingId: '3' }, [met(two, 3, 300_00n)])])
    const large = { trackingId: '3', amountMinor: 100_01n }
    given(...history)
      .when(count(large, two, sum))
      .then([counted(large, [met(two, 3, 300_01n), met(sum, 3, 300_01n)])])
    const first = { trackingId: '1', amountMinor: 300_01n }
    given()
      .when(count(first, sum))
      .then([counted(first, [met(sum, 1, 300_01n)])])
  },
)

t.test('an account and a customer have their own limits, and a number and a sum are checked together', async () => {
  const ofAccount = limit({ per: 'account', count: 1, amountMinor: 150_00n })
  const ofCustomer = limit({ per: 'customer', count: 1 })
  const history = [counted({ trackingId: '1' })]
  given(...history)
    .when(count({ trackingId: '2', accountMac: 'b', customerMac: 'd' }, ofAccount, ofCustomer))
    .then([counted({ trackingId: '2', accountMac: 'b', customerMac: 'd' })])
  given(...history)
    .when(count({ trackingId: '2', customerMac: 'd' }, ofAccount, ofCustomer))
    .then([counted({ trackingId: '2', customerMac: 'd' }, [met(ofAccount, 2, 200_00n)])])
  given(...history)
    .when(count({ trackingId: '2', accountMac: 'b' }, ofAccount, ofCustomer))
    .then([counted({ trackingId: '2', accountMac: 'b' }, [met(ofCustomer, 2, 200_00n)])])
})

t.test('a payout leaves each period after exactly 24 hours and after exactly 30 days', async () => {
  for (const hours of [24, 720] as const) {
    const one = limit({ hours, count: 1 })
    const inside = { trackingId: '2', at: after(hours * hourMs - 1) }
    given(counted({ trackingId: '1' }))
      .when(count(inside, one))
      .then([counted(inside, [met(one, 2, 200_00n)])])
    const outside = { trackingId: '2', at: after(hours * hourMs) }
    given(counted({ trackingId: '1' }))
      .when(count(outside, one))
      .then([counted(outside)])
  }
})

t.test('a withdrawal whose payout starts again is counted at that time instead of the earlier one', async () => {
  const one = limit({ count: 1 })
  const again = { trackingId: '1', at: after(dayMs - 1) }
  given(counted({ trackingId: '1' }))
    .when(count(again, one))
    .then([counted(again)])
  const other = { trackingId: '2', at: after(dayMs + 1) }
  given(counted({ trackingId: '1' }), counted(again))
    .when(count(other, one))
    .then([counted(other, [met(one, 2, 200_00n)])])
})

t.test('a withdrawal that was cancelled or failed no longer counts, and is uncounted once', async () => {
  const one = limit({ count: 1 })
  given(counted({ trackingId: '1' }))
    .when(uncount('1'))
    .then([uncounted('1')])
  given(counted({ trackingId: '1' }), uncounted('1'))
    .when(uncount('1'))
    .then([])
  given().when(uncount('1')).then([])
  given(counted({ trackingId: '1' }), uncounted('1'))
    .when(count({ trackingId: '2' }, one))
    .then([counted({ trackingId: '2' })])
})

t.test('a clock that is set back neither ends a period early nor orders events before earlier ones', async () => {
  const one = limit({ count: 1 })
  const history = [counted({ trackingId: '1', at: after(dayMs) })]
  given(...history)
    .when(count({ trackingId: '2', at: start }, one))
    .then([counted({ trackingId: '2', at: after(dayMs) }, [met(one, 2, 200_00n)])])
  given(...history)
    .when(uncount('1', start))
    .then([uncounted('1', after(dayMs))])
})

t.test('a sum that no event can hold is recorded as the largest one', async () => {
  const sum = limit({ amountMinor: 1n })
  const most = 999_999_999_999_999n
  const next = { trackingId: '2', amountMinor: most }
  given(counted({ trackingId: '1', amountMinor: most }))
    .when(count(next, sum))
    .then([counted(next, [met(sum, 2, most)])])
})

t.test('the approval threshold is a limit of the merchant in 24 hours if it applies to their sum', async (t) => {
  const withdrawalLimits = [limit({ count: 1 })]
  const settings = { withdrawalLimits, approvalAboveMinor: 100_00n, approvalOverDay: true }
  t.strictSame(limitsOf(settings), [...withdrawalLimits, limit({ amountMinor: 100_00n })])
  t.strictSame(limitsOf({ ...settings, approvalOverDay: false }), withdrawalLimits)
  t.strictSame(limitsOf({ ...settings, approvalAboveMinor: null }), withdrawalLimits)
  t.notOk(areLooser(withdrawalLimits, withdrawalLimits))
})

t.test('a text says which limit a payout is beyond, and by how much', async (t) => {
  const account = met(limit({ per: 'account', count: 4 }), 5, 500_00n)
  t.equal(exceededText([account]), '5 withdrawals to this account in 24 hours, limit 4')
  const customer = met(limit({ per: 'customer', hours: 720, amountMinor: 400_00n }), 1, 500_00n)
  const sum = '500.00 in 1 withdrawal of this customer in 30 days, limit 400.00'
  t.equal(exceededText([customer]), sum)
  t.equal(exceededText([account, customer]), `5 withdrawals to this account in 24 hours, limit 4; ${sum}`)
})

const happening = fc.record({
  trackingId: fc.constantFrom('1', '2', '3', '4', '5'),
  isCancelled: fc.boolean(),
  amountMinor: fc.bigInt(1n, 100_00n),
  accountMac: fc.constantFrom('a', 'b'),
  customerMac: fc.constantFrom('c', 'd'),
  afterMs: fc.integer({ min: -2 * dayMs, max: 9 * dayMs }),
})
const anyLimit = fc.record({
  per: fc.constantFrom('merchant', 'account', 'customer'),
  hours: fc.constantFrom(24, 720),
  count: fc.option(fc.integer({ min: 1, max: 4 })),
  amountMinor: fc.option(fc.bigInt(1n, 300_00n)),
}) as fc.Arbitrary<WithdrawalLimit>

t.test('in any history, exactly the limits are exceeded that the whole history has exceeded', async () => {
  const property = fc.property(
    fc.array(happening, { maxLength: 25 }),
    fc.array(anyLimit, { maxLength: 3 }),
    (happenings, limits) => {
      let state: CountedPayouts = payoutDecider.initialState
      let now = start
      const history: PayoutEvent[] = []
      for (const { isCancelled, afterMs, ...of } of happenings) {
        now = addMs(now, afterMs)
        const { trackingId } = of
        const command = isCancelled ? uncount(trackingId, now) : count({ ...of, at: now }, ...limits)
        const decision = payoutDecider.decide(command, state)
        if (!decision.accepted) throw new Error('refused')
        for (const event of decision.events) {
          const at = history.reduce((latest, { data }) => (data.at > latest ? data.at : latest), now)
          equal(event.data.at, at)
          if (event.type === 'PayoutCounted')
            deepStrictEqual(event.data.exceeded, expected(event.data, limits, history))
          history.push(event)
          state = payoutDecider.evolve(state, event)
        }
      }
      deepStrictEqual(state, fold(history))
    },
  )
  fc.assert(property, { seed: 20_261 })
})

const merchantOfThousands = fc.array(
  fc.record({
    trackingId: fc.nat(300).map(String),
    isCancelled: fc.nat(9).map((digit) => digit === 0),
    amountMinor: fc.bigInt(1n, 100_00n),
    accountMac: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    customerMac: fc.nat(60).map(String),
    // Times that are equal, and periods whose ends are exactly at an earlier payout.
    afterMs: fc.constantFrom(0, 0, 1, hourMs, -hourMs, 5 * hourMs, dayMs, 2 * dayMs),
  }),
  { minLength: 300, maxLength: 800, size: 'max' },
)

t.test(
  'in a long history, the state counts as a search of all payouts does, and later events do not change it',
  async () => {
    const limits = limitScopes.flatMap((per) => [
      limit({ per, hours: 24, count: 1 }),
      limit({ per, hours: 720, count: 1 }),
    ])
    const property = fc.property(merchantOfThousands, fc.nat(799), fc.nat(3), (happenings, restart, later) => {
      const checks: (() => void)[] = []
      const history: PayoutEvent[] = []
      let state: CountedPayouts = payoutDecider.initialState
      let now = start
      for (const [index, { isCancelled, afterMs, ...of }] of happenings.entries()) {
        now = addMs(now, afterMs)
        const before = { state, history: [...history], of, at: addMs(now, later * dayMs) }
        if (index % 40 === 0) checks.push(() => compare(before))
        const command = isCancelled ? uncount(of.trackingId, now) : count({ ...of, at: now }, ...limits)
        const decision = payoutDecider.decide(command, state)
        if (!decision.accepted) throw new Error('refused')
        history.push(...decision.events)
        // A restart.
        if (index === restart) state = afterAll(history)
        else state = decision.events.reduce(payoutDecider.evolve, state)
      }
      checks.push(() => compare({ state, history, of: happenings[0]!, at: now }))
      for (const check of checks) check()
    })
    // To shorten a history of hundreds of payouts would take minutes.
    fc.assert(property, { seed: 20_263, numRuns: 20, endOnFailure: true })

    function compare(before: {
      readonly state: CountedPayouts
      readonly history: readonly PayoutEvent[]
      readonly of: Sample
      readonly at: string
    }) {
      const { state, history, of } = before
      const lastAt = history.at(-1)?.data.at ?? ''
      const at = before.at > lastAt ? before.at : lastAt
      const exceeded = expected({ ...payout({ ...of, at }), exceeded: [] }, limits, history)
      for (const each of [state, afterAll(history)]) {
        deepStrictEqual(exceededLimits(payout(of), limits, each, before.at), exceeded)
        const last = history.findLast(({ data }) => data.trackingId === of.trackingId)
        const isKnown = last?.type === 'PayoutCounted' && Date.parse(lastAt) - Date.parse(last.data.at) < 30 * dayMs
        deepStrictEqual(countOf(each, of.trackingId), isKnown ? last.data : undefined)
      }
    }
  },
)

/** Counts with the whole history, without the state. */
function expected(
  payout: Extract<PayoutEvent, { type: 'PayoutCounted' }>['data'],
  limits: readonly WithdrawalLimit[],
  history: readonly PayoutEvent[],
): ExceededLimit[] {
  const ids = [...new Set(history.map(({ data }) => data.trackingId))].filter((id) => id !== payout.trackingId)
  const latest = ids.map((id) => history.findLast(({ data }) => data.trackingId === id)!)
  return limits.flatMap((limit) => {
    const others = latest.flatMap((event) => {
      if (event.type === 'PayoutUncounted') return []
      const { at, accountMac, customerMac, amountMinor } = event.data
      const isRecent = Date.parse(payout.at) - Date.parse(at) < limit.hours * hourMs
      const same = {
        merchant: true,
        account: accountMac === payout.accountMac,
        customer: customerMac === payout.customerMac,
      }
      return isRecent && same[limit.per] ? [amountMinor] : []
    })
    const all = [...others, payout.amountMinor]
    const sum = all.reduce((total, each) => total + each, 0n)
    const isBeyond = (limit.count ?? all.length) < all.length || (limit.amountMinor ?? sum) < sum
    return isBeyond ? [met(limit, all.length, sum)] : []
  })
}
