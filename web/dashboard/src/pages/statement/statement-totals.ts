import type { Kind, StatementResponse } from '../../../../../src/http/dashboard/api'

export type StatementRow = StatementResponse['items'][number]

export const columns = [
  { name: 'requested', minor: 'requestedMinor', count: 'requestedCount' },
  { name: 'opening', minor: 'openingMinor' },
  { name: 'received', minor: 'receivedMinor' },
  { name: 'completed', minor: 'completedMinor', count: 'completedCount' },
  { name: 'mismatch', minor: 'mismatchMinor' },
  { name: 'corrected', minor: 'correctedMinor', count: 'correctedCount' },
  { name: 'returned', minor: 'returnedMinor' },
  { name: 'refunded', minor: 'refundedMinor' },
  { name: 'kept', minor: 'keptMinor' },
  { name: 'resolved', minor: 'resolvedMinor' },
  { name: 'held', minor: 'heldMinor' },
  { name: 'open', minor: 'openMinor', count: 'openCount' },
] as const

type Minor = (typeof columns)[number]['minor']
type Count = 'requestedCount' | 'completedCount' | 'correctedCount' | 'openCount'

/** The amounts are decimal digits as the server sends them, or sums of those. */
export interface Line extends Readonly<Record<Minor, string | bigint>>, Readonly<Record<Count, number>> {
  readonly kind: Kind
}

/** Returns a total for each kind in the rows. Balances are not sums: they are those of the first and the last day. */
export function totalsOf(rows: readonly StatementRow[]): Line[] {
  return (['deposit', 'withdrawal'] as const).flatMap((kind) => {
    const own = rows.filter((row) => row.kind === kind).sort((a, b) => (a.day < b.day ? -1 : 1))
    const [first, last] = [own[0], own.at(-1)]
    if (!first || !last) return []
    const count = (name: Count) => own.reduce((sum, row) => sum + row[name], 0)
    const minor = (name: Minor) => own.reduce((sum, row) => sum + BigInt(row[name]), 0n)
    return {
      kind,
      requestedCount: count('requestedCount'),
      requestedMinor: minor('requestedMinor'),
      openingMinor: first.openingMinor,
      receivedMinor: minor('receivedMinor'),
      completedCount: count('completedCount'),
      completedMinor: minor('completedMinor'),
      mismatchMinor: minor('mismatchMinor'),
      correctedCount: count('correctedCount'),
      correctedMinor: minor('correctedMinor'),
      returnedMinor: minor('returnedMinor'),
      keptMinor: minor('keptMinor'),
      refundedMinor: minor('refundedMinor'),
      resolvedMinor: minor('resolvedMinor'),
      heldMinor: last.heldMinor,
      openCount: last.openCount,
      openMinor: last.openMinor,
    }
  })
}
