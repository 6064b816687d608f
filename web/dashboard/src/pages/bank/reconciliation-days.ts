import type { BankDay } from '../../../../../src/http/dashboard/bank/bank-api'

/** The amounts of a day: money that left the account, then money that came in. */
export const amounts = [
  ...(['filesMinor', 'debitBookedMinor', 'debitCompletedMinor', 'debitExplainedMinor', 'debitOpenMinor'] as const),
  ...(['creditBookedMinor', 'creditReceivedMinor', 'creditReturnedMinor', 'creditExplainedMinor'] as const),
  ...(['creditOpenMinor'] as const),
] as const
export type DayAmount = (typeof amounts)[number]

export type Sums = Readonly<Record<DayAmount, bigint>>

export function sumsOf(days: readonly BankDay[]): Sums {
  const sums = amounts.map((name) => [name, days.reduce((sum, day) => sum + BigInt(day[name]), 0n)])
  return Object.fromEntries(sums) as Sums
}

/** Returns the days of each account, in the order of the accounts. */
export function byAccount(days: readonly BankDay[]): readonly (readonly [string, readonly BankDay[]])[] {
  const found = new Map<string, BankDay[]>()
  for (const day of days) {
    const own = found.get(day.accountId)
    if (own) own.push(day)
    else found.set(day.accountId, [day])
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1))
}
