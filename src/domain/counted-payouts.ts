import {
  firstItem,
  listOf,
  type Order,
  type Position,
  type SummedList,
  totalOf,
  withItem,
  withoutItem,
} from '../kernel/summed-list.js'
import { addMs, hourMs } from '../kernel/time.js'
import { Type } from '../kernel/typebox.js'
import { accept, type Decider } from './decider.js'
import { Data, type DataOf, type EventsOf } from './event.js'
import { Id, PositiveMinor, Time } from './fields.js'
import { ExceededLimitData } from './withdrawal-limit-schemas.js'
import {
  type ExceededLimit,
  isAmountExceeded,
  isCountExceeded,
  type LimitScope,
  type WithdrawalLimit,
} from './withdrawal-limits.js'

// The payouts of a merchant, which its limits count.

const longestMs = 720 * hourMs

const payout = { merchantId: Id, trackingId: Id, at: Time }

/**
 * The payouts of a merchant with limits, in `payouts-<merchantId>`. All of them are in one stream, so that its revision orders the payouts
 * that any number of nodes start at the same time.
 */
export const payoutEvents = {
  /** The payout of a withdrawal starts. It replaces the withdrawal's earlier count. `at` is never before that of an earlier event. */
  PayoutCounted: Data({
    ...payout,
    amountMinor: PositiveMinor,
    /** The keyed digest of the account's number in the form in which account numbers are compared. */
    accountMac: Id,
    /** The keyed digest of the customer's userId. */
    customerMac: Id,
    /** The limits that the payout is beyond. */
    exceeded: Type.Array(ExceededLimitData, { maxItems: 10 }),
  }),
  /** The withdrawal was cancelled or failed, so its payout no longer counts. */
  PayoutUncounted: Data(payout),
}
export type PayoutEvent = EventsOf<typeof payoutEvents>
type Counted = DataOf<PayoutEvent, 'PayoutCounted'>
export type CountablePayout = Pick<Counted, 'trackingId' | 'amountMinor' | 'accountMac' | 'customerMac'>

/**
 * The counts of the last 30 days, and older ones that are not removed yet, each withdrawal once. The lists make a decision fast for a merchant
 * with thousands of payouts a day.
 */
export interface CountedPayouts {
  readonly byId: SummedList<Counted>
  readonly byTime: SummedList<Counted>
  readonly byAccount: SummedList<Counted>
  readonly byCustomer: SummedList<Counted>
  /** The time of the last event; empty before the first one. */
  readonly lastAt: string
}

const orders = {
  byId: orderBy((a, b) => compare(a.trackingId, b.trackingId)),
  byTime: orderBy(compareTimes),
  byAccount: orderBy((a, b) => compare(a.accountMac, b.accountMac) || compareTimes(a, b)),
  byCustomer: orderBy((a, b) => compare(a.customerMac, b.customerMac) || compareTimes(a, b)),
}
const listNames = { merchant: 'byTime', account: 'byAccount', customer: 'byCustomer' } as const

type PayoutCommand =
  | ({ readonly type: 'Count'; readonly limits: readonly WithdrawalLimit[] } & Omit<Counted, 'exceeded'>)
  | ({ readonly type: 'Uncount' } & DataOf<PayoutEvent, 'PayoutUncounted'>)

export const payoutDecider: Decider<CountedPayouts, PayoutCommand, PayoutEvent> = {
  initialState: { byId: undefined, byTime: undefined, byAccount: undefined, byCustomer: undefined, lastAt: '' },
  decide(command, state) {
    const { merchantId, trackingId } = command
    // A clock that was set back would otherwise start a period in which earlier payouts do not count.
    const at = latest(command.at, state)
    if (command.type === 'Uncount')
      return countOf(state, trackingId)
        ? accept({ type: 'PayoutUncounted', data: { merchantId, trackingId, at } })
        : accept()
    const { amountMinor, accountMac, customerMac, limits } = command
    const exceeded = exceededLimits(command, limits, state, at)
    const data = { merchantId, trackingId, at, amountMinor, accountMac, customerMac, exceeded }
    return accept({ type: 'PayoutCounted', data })
  },
  evolve,
}

function evolve(state: CountedPayouts, event: PayoutEvent): CountedPayouts {
  const { trackingId, at: lastAt } = event.data
  let next: CountedPayouts = { ...state, lastAt }
  const earlier = knownCount(state, trackingId)
  if (earlier) next = changed(next, withoutItem, earlier)
  if (event.type === 'PayoutCounted') next = changed(next, withItem, event.data)
  // Each event removes at most two, so that an event after a long pause takes no longer than others.
  for (let removed = 0; removed < 2; removed++) {
    const oldest = next.byTime?.first
    if (!oldest || reachesBack(lastAt, oldest.at)) break
    next = changed(next, withoutItem, oldest)
  }
  return next
}

/** Returns the state after the events of a stream, in their order. It is faster than {@link payoutDecider.evolve} for each of them. */
export function afterAll(events: readonly PayoutEvent[]): CountedPayouts {
  const newest = new Map(events.map((event) => [event.data.trackingId, event]))
  const payouts = [...newest.values()].flatMap((event) => (event.type === 'PayoutCounted' ? [event.data] : []))
  return {
    byId: listOf(payouts, orders.byId),
    byTime: listOf(payouts, orders.byTime),
    byAccount: listOf(payouts, orders.byAccount),
    byCustomer: listOf(payouts, orders.byCustomer),
    lastAt: events.at(-1)?.data.at ?? '',
  }
}

function changed(
  { byId, byTime, byAccount, byCustomer, lastAt }: CountedPayouts,
  change: typeof withItem | typeof withoutItem,
  payout: Counted,
): CountedPayouts {
  return {
    byId: change(byId, payout, orders.byId),
    byTime: change(byTime, payout, orders.byTime),
    byAccount: change(byAccount, payout, orders.byAccount),
    byCustomer: change(byCustomer, payout, orders.byCustomer),
    lastAt,
  }
}

/** Returns the count of a withdrawal in the last 30 days. */
export function countOf(state: CountedPayouts, trackingId: string): Counted | undefined {
  const known = knownCount(state, trackingId)
  return known && reachesBack(state.lastAt, known.at) ? known : undefined
}

function knownCount({ byId }: CountedPayouts, trackingId: string): Counted | undefined {
  return firstItem(byId, (each) => compare(each.trackingId, trackingId))
}

/** Returns whether an event of that time belongs to the longest period before the last event. */
export const reachesBack = (lastAt: string, at: string): boolean => at > addMs(lastAt, -longestMs)

/** The largest sum that an event can hold. */
const largestMinor = 999_999_999_999_999n

/** Returns the limits that a payout is beyond if it starts at that time. Its own earlier count is replaced, so it does not count. */
export function exceededLimits(
  payout: CountablePayout,
  limits: readonly WithdrawalLimit[],
  state: CountedPayouts,
  now: string,
): readonly ExceededLimit[] {
  const at = latest(now, state)
  const earlier = knownCount(state, payout.trackingId)
  return limits.flatMap((limit): ExceededLimit[] => {
    const counts = countedWith(payout, limit.per, addMs(at, -limit.hours * hourMs))
    const list = listNames[limit.per]
    const total = totalOf(state[list], counts, orders[list])
    const replaced = earlier && counts(earlier) === 0 ? earlier : undefined
    const actualCount = total.count + (replaced ? 0 : 1)
    const sum = total.sum + payout.amountMinor - (replaced?.amountMinor ?? 0n)
    const actualMinor = sum < largestMinor ? sum : largestMinor
    const reached = { ...limit, actualCount, actualMinor }
    return isCountExceeded(reached) || isAmountExceeded(reached) ? [reached] : []
  })
}

/** Both times are ISO 8601 in the same form. */
function latest(at: string, { lastAt }: CountedPayouts): string {
  return at > lastAt ? at : lastAt
}

/** Returns the range of the counts after `from` that a limit counts together with a payout. */
function countedWith(payout: CountablePayout, per: LimitScope, from: string): Position<Counted> {
  const inPeriod = ({ at }: Counted) => (at > from ? 0 : -1)
  if (per === 'merchant') return inPeriod
  const mac = per === 'account' ? 'accountMac' : 'customerMac'
  return (each) => compare(each[mac], payout[mac]) || inPeriod(each)
}

function orderBy(compare: Order<Counted>['compare']): Order<Counted> {
  return { compare, amountOf: ({ amountMinor }) => amountMinor }
}

function compareTimes(a: Counted, b: Counted): number {
  return compare(a.at, b.at) || compare(a.trackingId, b.trackingId)
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
