import { streamPrefix } from '../domain/streams.js'
import { type Counted, figuresOf } from '../domain/transfer/transfer.js'
import type { TransferEvent, TransferKind } from '../domain/transfer/transfer-events.js'
import { formatPosition, type RecordedEvent } from '../event-store/event-store.js'
import { readEvent } from '../event-store/read-event.js'
import { dayMs } from '../kernel/time.js'
import type { ReadModels } from '../read-models/read-models.js'
import { addFigures, type OverviewRange, type Period, readTotals, type Total } from './overview.js'
import { transferKinds } from './transfer-queries.js'
import { isRecordedBy, type LogStore, type PointInTime, walkLog } from './walk-log.js'

/** The transfers of one kind on one day in UTC. Amounts are minor units. */
export interface StatementLine {
  /** `2026-11-21`. */
  readonly day: string
  readonly kind: TransferKind
  readonly requestedCount: number
  readonly requestedMinor: number
  readonly completedCount: number
  /** The booked amount. */
  readonly completedMinor: number
  /** The booked minus the requested amount of the transfers that were completed on that day. */
  readonly mismatchMinor: number
  readonly returnedMinor: number
  /** The transfers that had not ended by the end of the day. */
  readonly openCount: number
  readonly openMinor: number
}

const dayLength = 'yyyy-mm-dd'.length
const monthLength = 'yyyy-mm'.length

/** 1 if a transfer becomes open, -1 if it ends. */
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
 * Returns the statement of these merchants together, or of all, from the totals of the read models: one line per kind and day with any
 * figures. `from` is inclusive, `to` is exclusive, and both are extended to whole days. @throws ReadModelsUnavailableError
 */
export async function statementOf(readModels: ReadModels, merchantIds: OverviewRange['merchantIds'], range: Period) {
  const { from, to } = range
  const firstDay = from.slice(0, dayLength)
  const endDay = new Date(Math.ceil(Date.parse(to) / dayMs) * dayMs).toISOString().slice(0, dayLength)
  const firstMonth = firstDay.slice(0, monthLength)
  const months = await readTotals(readModels, merchantIds, { from: '0000-00', to: firstMonth })
  const days = await readTotals(readModels, merchantIds, { from: `${firstMonth}-01`, to: endDay })
  return statementLines([...months, ...days], firstDay, endDay)
}

/**
 * Counts a merchant's statement, of one day or of all days with any figures, from the log and not from read models. It reads the log from
 * its start. The position and the time are those of the last counted event; `null` if no event was counted. @throws StoreUnavailableError, UnreadableEventError
 */
export async function statementFromLog(store: LogStore, merchantId: string, day?: string, asOf?: PointInTime) {
  const until = asOf && 'position' in asOf ? asOf.position : undefined
  const totals = new Map<string, Total>()
  let last: RecordedEvent | undefined
  for await (const { events } of walkLog(store, { until, streamPrefixes: [streamPrefix.transfer] })) {
    for (const recorded of events) {
      if (recorded.data.merchantId !== merchantId || !isRecordedBy(recorded, asOf)) continue
      const event = readEvent(recorded) as TransferEvent | undefined
      if (!event) continue
      count(totals, event)
      last = recorded
    }
  }
  const days = [...totals.values()].map(({ period }) => period).sort()
  const [first = day ?? '', end = first] = day === undefined ? [days[0], days.at(-1)] : [day, day]
  return {
    position: last ? formatPosition(last.position) : null,
    recordedAt: last ? new Date(last.recordedAtMs).toISOString() : null,
    lines: first === '' ? [] : statementLines([...totals.values()], first, dayAfter(end)),
  }
}

function count(totals: Map<string, Total>, event: TransferEvent): void {
  const { kind, at } = event.data
  const period = at.slice(0, dayLength)
  for (const { counted, amountMinor, transactionAmountMinor } of figuresOf(event) ?? []) {
    const amounts = { amountMinor: Number(amountMinor), transactionAmountMinor: Number(transactionAmountMinor) }
    addFigures(totals, `${period}|${kind}|${counted}`, { period, kind, counted, count: 1, ...amounts })
  }
}

/** Expects the totals of all days from the first one on, and of whole months or days before it. */
function statementLines(totals: readonly Total[], firstDay: string, endDay: string): readonly StatementLine[] {
  const lines = transferKinds.flatMap((kind) => linesOf(kind, totals, firstDay, endDay))
  return lines.sort((a, b) => (a.day === b.day ? 0 : a.day < b.day ? -1 : 1))
}

function linesOf(kind: TransferKind, totals: readonly Total[], firstDay: string, endDay: string): StatementLine[] {
  const lines: StatementLine[] = []
  const days = new Map<string, Total[]>()
  let [openCount, openMinor] = [0, 0]
  const open = (total: Total) => {
    openCount += opening[total.counted] * total.count
    openMinor += opening[total.counted] * total.amountMinor
  }
  for (const total of totals) {
    if (total.kind !== kind) continue
    if (total.period < firstDay) open(total)
    else days.set(total.period, [...(days.get(total.period) ?? []), total])
  }
  for (let day = firstDay; day < endDay; day = dayAfter(day)) {
    const totalsOfDay = days.get(day) ?? []
    totalsOfDay.forEach(open)
    const of = (counted: Counted) => totalsOfDay.find((total) => total.counted === counted)
    const [requested, completed] = [of('Pending'), of('Completed')]
    const figures = {
      requestedCount: requested?.count ?? 0,
      requestedMinor: requested?.amountMinor ?? 0,
      completedCount: completed?.count ?? 0,
      completedMinor: completed?.transactionAmountMinor ?? 0,
      mismatchMinor: completed ? completed.transactionAmountMinor - completed.amountMinor : 0,
      returnedMinor: of('Returned')?.amountMinor ?? 0,
      ...{ openCount, openMinor },
    }
    if (Object.values(figures).some((figure) => figure !== 0)) lines.push({ day, kind, ...figures })
  }
  return lines
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + dayMs).toISOString().slice(0, dayLength)
}
