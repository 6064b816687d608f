import type { Kind, StatementAnswer } from '../../api/contract'

export type StatementRow = StatementAnswer['items'][number]

export const columns = [
  { name: 'requested', minor: 'requestedMinor', count: 'requestedCount' },
  { name: 'completed', minor: 'completedMinor', count: 'completedCount' },
  { name: 'mismatch', minor: 'mismatchMinor' },
  { name: 'returned', minor: 'returnedMinor' },
  { name: 'open', minor: 'openMinor', count: 'openCount' },
] as const

type Minor = (typeof columns)[number]['minor']
type Count = 'requestedCount' | 'completedCount' | 'openCount'

export interface Line extends Readonly<Record<Minor, number | bigint>>, Readonly<Record<Count, number>> {
  readonly kind: Kind
}

/** Returns a total for each kind in the rows. The open amount is not a sum: it is the open amount at the end of the last day. */
export function totalsOf(rows: readonly StatementRow[]): Line[] {
  return (['deposit', 'withdrawal'] as const).flatMap((kind) => {
    const own = rows.filter((row) => row.kind === kind).sort((a, b) => (a.day < b.day ? -1 : 1))
    const last = own.at(-1)
    if (!last) return []
    const count = (name: Count) => own.reduce((sum, row) => sum + row[name], 0)
    const minor = (name: Minor) => own.reduce((sum, row) => sum + BigInt(row[name]), 0n)
    return {
      kind,
      requestedCount: count('requestedCount'),
      requestedMinor: minor('requestedMinor'),
      completedCount: count('completedCount'),
      completedMinor: minor('completedMinor'),
      mismatchMinor: minor('mismatchMinor'),
      returnedMinor: minor('returnedMinor'),
      openCount: last.openCount,
      openMinor: last.openMinor,
    }
  })
}
