import { addMs, hourMs } from '../kernel/time.js'
import { Type } from '../kernel/typebox.js'
import { accept, type Decider } from './decider.js'
import { Data, type DataOf, type EventsOf } from './event.js'
import { Id, PositiveMinor, Time } from './fields.js'
import { ExceededLimit, isAmountExceeded, isCountExceeded, type WithdrawalLimit } from './withdrawal-limits.js'

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
    exceeded: Type.Array(ExceededLimit, { maxItems: 10 }),
  }),
  /** The withdrawal was cancelled or failed, so its payout no longer counts. */
  PayoutUncounted: Data(payout),
}
export type PayoutEvent = EventsOf<typeof payoutEvents>
type Counted = DataOf<PayoutEvent, 'PayoutCounted'>
export type CountablePayout = Pick<Counted, 'trackingId' | 'amountMinor' | 'accountMac' | 'customerMac'>

export interface CountedPayouts {
  /** The payouts of the last 30 days, oldest first, each withdrawal once. */
  readonly payouts: readonly Counted[]
  /** The time of the last event; empty before the first one. */
  readonly lastAt: string
}

type PayoutCommand =
  | ({ readonly type: 'Count'; readonly limits: readonly WithdrawalLimit[] } & Omit<Counted, 'exceeded'>)
  | ({ readonly type: 'Uncount' } & DataOf<PayoutEvent, 'PayoutUncounted'>)

export const payoutDecider: Decider<CountedPayouts, PayoutCommand, PayoutEvent> = {
  initialState: { payouts: [], lastAt: '' },
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
  evolve: (state, event) => afterEvents(state, [event]),
}

/** Returns the state after events in their order. It takes all of them at once, because each copy of the list takes time. */
export function afterEvents(state: CountedPayouts, events: readonly PayoutEvent[]): CountedPayouts {
  const lastAt = events.at(-1)?.data.at
  if (lastAt === undefined) return state
  const from = addMs(lastAt, -longestMs)
  const newest = new Map(events.map((event) => [event.data.trackingId, event]))
  const kept = state.payouts.filter(({ trackingId, at }) => at > from && !newest.has(trackingId))
  const added = events.flatMap((event) => {
    const isCounted = event.type === 'PayoutCounted' && newest.get(event.data.trackingId) === event
    return isCounted && event.data.at > from ? [event.data] : []
  })
  return { payouts: [...kept, ...added], lastAt }
}

/** Returns the count of a withdrawal in the last 30 days. */
export function countOf({ payouts }: CountedPayouts, trackingId: string): Counted | undefined {
  return payouts.find((each) => each.trackingId === trackingId)
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
  return limits.flatMap((limit): ExceededLimit[] => {
    const from = addMs(at, -limit.hours * hourMs)
    const others = state.payouts.filter(
      (each) => each.at > from && each.trackingId !== payout.trackingId && isCountedWith(limit, each, payout),
    )
    const actualCount = others.length + 1
    const sum = others.reduce((total, each) => total + each.amountMinor, payout.amountMinor)
    const actualMinor = sum < largestMinor ? sum : largestMinor
    const reached = { ...limit, actualCount, actualMinor }
    return isCountExceeded(reached) || isAmountExceeded(reached) ? [reached] : []
  })
}

/** Both times are ISO 8601 in the same form. */
function latest(at: string, { lastAt }: CountedPayouts): string {
  return at > lastAt ? at : lastAt
}

function isCountedWith({ per }: WithdrawalLimit, a: CountablePayout, b: CountablePayout): boolean {
  if (per === 'merchant') return true
  return per === 'account' ? a.accountMac === b.accountMac : a.customerMac === b.customerMac
}
