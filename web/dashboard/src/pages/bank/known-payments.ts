import type { BankPayment } from '../../../../../src/http/dashboard/bank/bank-api'

interface Known {
  readonly payment: BankPayment
  readonly atMs: number
}
export type KnownPayments = ReadonlyMap<string, Known>

interface Listed {
  readonly items: readonly BankPayment[]
  /** The time at which they were fetched. */
  readonly fetchedMs: number
}
interface Filter {
  readonly account?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Returns the listed payments, the latest day first, with those that are known. A decided payment of the list keeps its place. */
export function withKnown({ items, fetchedMs }: Listed, known: KnownPayments, filter: Filter): readonly BankPayment[] {
  const listed = new Set(items.map(({ paymentId }) => paymentId))
  const current = items.map((item) => {
    const found = known.get(item.paymentId)
    return found && found.atMs > fetchedMs ? found.payment : item
  })
  const others = [...known.values()].flatMap(({ payment }) =>
    listed.has(payment.paymentId) || !matches(payment, filter) ? [] : [payment],
  )
  if (others.length === 0) return current
  // The list has the newest of a day first.
  return [...others.reverse(), ...current].sort((a, b) => (a.date === b.date ? 0 : a.date < b.date ? 1 : -1))
}

function matches({ accountId, date }: BankPayment, { account, from = '', to = '9' }: Filter): boolean {
  return (account === undefined || accountId === account) && date >= from && date <= to
}
