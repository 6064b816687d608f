import { streamPrefix } from '../domain/streams.js'
import { type Counted, figuresOf } from '../domain/transfer/transfer.js'
import type { TransferEvent, TransferKind } from '../domain/transfer/transfer-events.js'
import { type EventStore, formatPosition, logPages, type RecordedEvent } from '../event-store/event-store.js'
import { readEvent } from '../event-store/read-event.js'
import { dateIn } from '../kernel/time.js'
import { totalPeriods } from '../read-models/documents.js'
import { addFigures, type OverviewRange, type Period, readTotals, type Total } from './overview.js'
import { isRecordedBy, type PointInTime } from './point-in-time.js'
import { type ListSources, transferKinds } from './transfer-queries.js'
import { dayAfter, startOfDay } from './zone-days.js'

/**
 * The transfers of one kind on one day. Amounts are minor units. Of the money of deposits, `openingMinor` + `receivedMinor` -
 * `completedMinor` - `correctedMinor` + `refundedMinor` - `returnedMinor` - `resolvedMinor` = `heldMinor`, which is the opening amount of the
 * next day. Of withdrawals, `completedMinor` + `correctedMinor` = `keptMinor` + `returnedMinor`, and `openingMinor` + `returnedMinor` -
 * `resolvedMinor` = `heldMinor`.
 */
export interface StatementLine {
  /** `2026-11-21`. */
  readonly day: string
  readonly kind: TransferKind
  readonly requestedCount: number
  readonly requestedMinor: bigint
  /** The money that was held when the day began. */
  readonly openingMinor: bigint
  /** Less on a day whose corrections remove money that never arrived, and then possibly negative. */
  readonly receivedMinor: bigint
  readonly completedCount: number
  /** The booked amount. */
  readonly completedMinor: bigint
  /** The booked minus the requested amount of the transfers that were completed on that day. */
  readonly mismatchMinor: bigint
  readonly correctedCount: number
  /** The change of booked amounts by corrections on that day, whenever the transfers were completed. */
  readonly correctedMinor: bigint
  /** The money of deposits that was returned to customers, and that of withdrawals that came back. */
  readonly returnedMinor: bigint
  /** The paid money of withdrawals minus the money that came back on that day, also if it was paid on an earlier one; 0 for deposits. */
  readonly keptMinor: bigint
  /** The part of the returned money that was booked. */
  readonly refundedMinor: bigint
  /** The money that an approver decided to need no further attention. */
  readonly resolvedMinor: bigint
  /** The received money of deposits that was neither booked, nor returned, nor resolved by the end of the day, and the money of withdrawals that came back and was not resolved. */
  readonly heldMinor: bigint
  /** The transfers that had not ended by the end of the day. */
  readonly openCount: number
  readonly openMinor: bigint
}

/** 1 if a transfer becomes open, -1 if it ends. */
const opening: { readonly [counted in Counted]: bigint } = {
  ...{ Pending: 1n, Reopened: 1n, Completed: -1n, Cancelled: -1n, Failed: -1n },
  ...{ ManualControl: 0n, Received: 0n, Returned: 0n, Refunded: 0n, Resolved: 0n, Corrected: 0n },
}

/** The days from `from` to `to` in the time zone, of which those after `now` are omitted. */
interface StatementQuery extends OverviewRange {
  readonly timeZone: string
  readonly now: string
}

/**
 * Returns the statement of these merchants together, or of all, from the totals of the read models: one line per kind and day with any
 * figures. `from` is inclusive, `to` is exclusive, and both are extended to whole days. @throws ReadModelsUnavailableError
 */
export async function statementOf({ readModels }: ListSources, query: StatementQuery) {
  const { merchantIds, from, to, timeZone, now } = query
  const read = (period: Period) => readTotals(readModels, merchantIds, period)
  const last = new Date(Date.parse(to) - 1).toISOString()
  const endDay = dayAfter(dateIn(timeZone, last < now ? last : now))
  let day = dateIn(timeZone, from)
  let start = startOfDay(timeZone, day)
  const lines = new StatementLines(await readBefore(read, start))
  while (day < endDay) {
    const end = startOfDay(timeZone, dayAfter(day))
    lines.add(day, await readDay(read, start, end))
    day = dayAfter(day)
    start = end
  }
  return lines.all
}

type ReadTotals = (period: Period) => Promise<readonly Total[]>
const { quarter: quarterLength, day: dayLength, month: monthLength } = totalPeriods

/** Returns the totals of everything before a start of a quarter of an hour. */
async function readBefore(read: ReadTotals, at: string): Promise<readonly Total[]> {
  const month = at.slice(0, monthLength)
  const day = at.slice(0, dayLength)
  const months = await read({ from: '0000-00', to: month })
  const days = await read({ from: `${month}-01`, to: day })
  return [...months, ...days, ...(await read({ from: `${day}T00:00`, to: at.slice(0, quarterLength) }))]
}

/** Returns the totals of a day. Days in UTC have separate totals; a day in another zone is the sum of its quarters of an hour. */
function readDay(read: ReadTotals, start: string, end: string): Promise<readonly Total[]> {
  const isWhole = [start, end].every((at) => at.startsWith('T00:00', dayLength))
  const length = isWhole ? dayLength : quarterLength
  return read({ from: start.slice(0, length), to: end.slice(0, length) })
}

/**
 * Counts a merchant's statement in UTC, of one day or of all days with any figures, from the log and not from read models. It reads the log
 * from its start. The position and the time are those of the last counted event; `null` if no event was counted. @throws StoreUnavailableError, UnreadableEventError
 */
export async function statementFromLog(
  store: Pick<EventStore, 'readAll'>,
  merchantId: string,
  day?: string,
  asOf?: PointInTime,
) {
  const until = asOf && 'position' in asOf ? asOf.position : undefined
  const totals = new Map<string, Total>()
  let last: RecordedEvent | undefined
  for await (const { events } of logPages(store, { until, streamPrefixes: [streamPrefix.transfer] })) {
    for (const recorded of events) {
      if (recorded.data.merchantId !== merchantId || !isRecordedBy(recorded, asOf)) continue
      const event = readEvent(recorded) as TransferEvent | undefined
      if (!event) continue
      countIn(totals, event)
      last = recorded
    }
  }
  const all = [...totals.values()]
  const days = all.map(({ period }) => period).sort()
  const [first = day, end = first] = day === undefined ? [days[0], days.at(-1)] : [day, day]
  return {
    position: last ? formatPosition(last.position) : null,
    recordedAt: last ? new Date(last.recordedAtMs).toISOString() : null,
    lines: first === undefined ? [] : linesOf(all, first, end!),
  }
}

function linesOf(totals: readonly Total[], firstDay: string, lastDay: string): readonly StatementLine[] {
  const lines = new StatementLines(totals.filter(({ period }) => period < firstDay))
  for (let day = firstDay; day <= lastDay; day = dayAfter(day)) {
    const ofDay = totals.filter(({ period }) => period === day)
    lines.add(day, ofDay)
  }
  return lines.all
}

function countIn(totals: Map<string, Total>, event: TransferEvent): void {
  const { kind, at } = event.data
  const period = at.slice(0, dayLength)
  for (const { counted, ...amounts } of figuresOf(event) ?? [])
    addFigures(totals, `${period}|${kind}|${counted}`, { period, kind, counted, count: 1, ...amounts })
}

const nothing = { count: 0, amountMinor: 0n, transactionAmountMinor: 0n, receivedMinor: 0n }

/** Turns the totals of consecutive days into lines, with the balances that they lead to. */
class StatementLines {
  readonly all: StatementLine[] = []
  readonly #balances = transferKinds.map((kind) => ({ kind, openCount: 0, openMinor: 0n, heldMinor: 0n }))

  constructor(before: readonly Total[]) {
    for (const balance of this.#balances) this.#count(balance, before)
  }

  add(day: string, totals: readonly Total[]): void {
    for (const balance of this.#balances) {
      const { heldMinor: openingMinor, kind } = balance
      const { of, receivedMinor, bookedMinor } = this.#count(balance, totals)
      const completed = of('Completed')
      const figures = {
        requestedCount: of('Pending').count,
        requestedMinor: of('Pending').amountMinor,
        openingMinor,
        receivedMinor,
        completedCount: completed.count,
        completedMinor: completed.transactionAmountMinor,
        mismatchMinor: completed.transactionAmountMinor - completed.amountMinor,
        correctedCount: of('Corrected').count,
        correctedMinor: of('Corrected').amountMinor,
        returnedMinor: of('Returned').amountMinor,
        keptMinor: kind === 'withdrawal' ? bookedMinor - of('Returned').amountMinor : 0n,
        refundedMinor: of('Refunded').amountMinor,
        resolvedMinor: of('Resolved').amountMinor,
        heldMinor: balance.heldMinor,
        openCount: balance.openCount,
        openMinor: balance.openMinor,
      }
      if (Object.values(figures).some((figure) => figure !== 0 && figure !== 0n))
        this.all.push({ day, kind, ...figures })
    }
  }

  /** Adds the totals of one kind to its balance, and returns their sums. */
  #count(
    balance: { kind: TransferKind; openCount: number; openMinor: bigint; heldMinor: bigint },
    totals: readonly Total[],
  ) {
    const sums = new Map<string, Total>()
    let receivedMinor = 0n
    for (const total of totals) {
      if (total.kind !== balance.kind) continue
      addFigures(sums, total.counted, total)
      receivedMinor += total.receivedMinor
      balance.openCount += Number(opening[total.counted]) * total.count
      balance.openMinor += opening[total.counted] * total.amountMinor
    }
    const of = (counted: Counted) => sums.get(counted) ?? nothing
    const bookedMinor = of('Completed').transactionAmountMinor + of('Corrected').amountMinor
    const [returnedMinor, resolvedMinor] = [of('Returned').amountMinor, of('Resolved').amountMinor]
    balance.heldMinor +=
      balance.kind === 'deposit'
        ? receivedMinor - bookedMinor + of('Refunded').amountMinor - returnedMinor - resolvedMinor
        : returnedMinor - resolvedMinor
    return { of, receivedMinor, bookedMinor }
  }
}
