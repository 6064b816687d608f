import { toJsonNumber } from './money.js'

// Limits on a merchant's withdrawals over a period. A withdrawal beyond a limit needs the approval of a second person.

export const limitScopes = ['merchant', 'account', 'customer'] as const
export type LimitScope = (typeof limitScopes)[number]

export interface WithdrawalLimit {
  /** The withdrawals that are counted together: all of the merchant, or those to one account or of one customer. */
  readonly per: LimitScope
  /** A day, or 30 days. */
  readonly hours: 24 | 720
  /** The largest number of withdrawals without an approval; null for any. */
  readonly count: number | null
  /** The largest sum of withdrawals without an approval; null for any. */
  readonly amountMinor: bigint | null
}

/** A limit, and what the withdrawals in its period come to with the one that is beyond it. */
export interface ExceededLimit extends WithdrawalLimit {
  readonly actualCount: number
  readonly actualMinor: bigint
}

export function isCountExceeded({ count, actualCount }: ExceededLimit): boolean {
  return count !== null && actualCount > count
}

export function isAmountExceeded({ amountMinor, actualMinor }: ExceededLimit): boolean {
  return amountMinor !== null && actualMinor > amountMinor
}

/** Returns exceeded limits for programs, with amounts as JSON numbers. */
export function exceededJson(exceeded: readonly ExceededLimit[]) {
  return exceeded.map(({ per, hours, count, amountMinor, actualCount, actualMinor }) => ({
    per,
    hours,
    count,
    amount: amountMinor === null ? null : toJsonNumber(amountMinor),
    actualCount,
    actualAmount: toJsonNumber(actualMinor),
  }))
}

/** The settings from which a merchant's limits follow. */
interface LimitSettings {
  readonly withdrawalLimits: readonly WithdrawalLimit[]
  readonly approvalAboveMinor: bigint | null
  readonly approvalOverDay: boolean
}

/** Returns the merchant's limits, of which the approval threshold is one if it applies to the sum of a day. */
export function limitsOf(settings: LimitSettings): readonly WithdrawalLimit[] {
  const { withdrawalLimits, approvalAboveMinor: amountMinor, approvalOverDay } = settings
  if (!approvalOverDay || amountMinor === null) return withdrawalLimits
  return [...withdrawalLimits, { per: 'merchant', hours: 24, count: null, amountMinor }]
}

/** Returns whether payouts that are beyond a limit now would not be with the next limits. */
export function areLooser(next: readonly WithdrawalLimit[], current: readonly WithdrawalLimit[]): boolean {
  return current.some(({ per, hours, count, amountMinor }) => {
    const other = next.find((each) => each.per === per && each.hours === hours)
    return isHigher(other?.count ?? null, count) || isHigher(other?.amountMinor ?? null, amountMinor)
  })
}

function isHigher<Value extends number | bigint>(next: Value | null, current: Value | null): boolean {
  return current !== null && (next === null || next > current)
}
