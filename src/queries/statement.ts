import type { Counted } from '../domain/transfer/figures.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { dayMs } from '../kernel/time.js'
import type { ReadModels } from '../read-models/read-models.js'
import { readTotals, type Total } from './total-queries.js'
import { transferKinds } from './transfer-queries.js'

/** What became of the transfers of a kind on one day, UTC. Minor units. */
export interface StatementLine {
  /** `2026-11-21`. */
  readonly day: string
  readonly kind: TransferKind
  readonly requestedCount: number
  readonly requestedMinor: number
  readonly completedCount: number
  /** Booked. */
  readonly completedMinor: number
  /** Booked less (below 0) or more than requested, of what completed that day. */
  readonly mismatchMinor: number
  readonly returnedMinor: number
  /** Requested and not ended at the end of the day. */
  readonly openCount: number
  readonly openMinor: number
}

const dayLength = 'yyyy-mm-dd'.length
const monthLength = 'yyyy-mm'.length

/** 1 where a transfer becomes open, -1 where it ends. */
const opening: { readonly [counted in Counted]: -1 | 0 | 1 } = {
  Pending: 1,
  ManualControl: 0,
  Reopened: 1,
  Completed: -1,
  Cancelled: -1,
  Failed: -1,
  Returned: 0,
}

/**
 * A line for each kind and day with something to tell, of these merchants together, or of all. `from`: the first moment that counts,
 * `to`: the first that does not; whole days are told. @throws ReadModelsUnavailableError
 */
export async function statementOf(
  readModels: ReadModels,
  merchantIds: readonly string[] | undefined,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<readonly StatementLine[]> {
  const firstDay = from.slice(0, dayLength)
  const endDay = new Date(Math.ceil(Date.parse(to) / dayMs) * dayMs).toISOString().slice(0, dayLength)
  const firstMonth = firstDay.slice(0, monthLength)
  const months = await readTotals(readModels, merchantIds, { from: '0000-00', to: firstMonth })
  const days = await readTotals(readModels, merchantIds, { from: `${firstMonth}-01`, to: endDay })
  return statementLines([...months, ...days], firstDay, endDay)
}

/** Of totals of days, and of whole months before them. Days are told from the first to the one before the end. */
export function statementLines(totals: readonly Total[], firstDay: string, endDay: string): readonly StatementLine[] {
  const lines = transferKinds.flatMap((kind) => linesOf(kind, totals, firstDay, endDay))
  return lines.sort((a, b) => (a.day === b.day ? 0 : a.day < b.day ? -1 : 1))
}

function linesOf(kind: TransferKind, totals: readonly Total[], firstDay: string, endDay: string): StatementLine[] {
  const lines: StatementLine[] = []
  const before: Total[] = []
  const days = new Map<string, Total[]>()
  for (const total of totals) {
    if (total.kind !== kind) continue
    if (total.period < firstDay) before.push(total)
    else days.set(total.period, [...(days.get(total.period) ?? []), total])
  }
  let open = openAfter({ count: 0, minor: 0 }, before)
  for (let day = firstDay; day < endDay; day = dayAfter(day)) {
    const totalsOfDay = days.get(day) ?? []
    open = openAfter(open, totalsOfDay)
    const of = (counted: Counted) => totalsOfDay.find((total) => total.counted === counted)
    const [requested, completed] = [of('Pending'), of('Completed')]
    const figures = {
      requestedCount: requested?.count ?? 0,
      requestedMinor: requested?.amountMinor ?? 0,
      completedCount: completed?.count ?? 0,
      completedMinor: completed?.transactionAmountMinor ?? 0,
      mismatchMinor: completed ? completed.transactionAmountMinor - completed.amountMinor : 0,
      returnedMinor: of('Returned')?.amountMinor ?? 0,
      openCount: open.count,
      openMinor: open.minor,
    }
    if (Object.values(figures).some((figure) => figure !== 0)) lines.push({ day, kind, ...figures })
  }
  return lines
}

interface Open {
  readonly count: number
  readonly minor: number
}

function openAfter(before: Open, totals: readonly Total[]): Open {
  return totals.reduce(
    ({ count, minor }, total) => ({
      count: count + opening[total.counted] * total.count,
      minor: minor + opening[total.counted] * total.amountMinor,
    }),
    before,
  )
}

export function dayAfter(day: string): string {
  return new Date(Date.parse(day) + dayMs).toISOString().slice(0, dayLength)
}
