import { streamPrefix } from '../../domain/streams.js'
import { figuresOf } from '../../domain/transfer/figures.js'
import type { TransferEvent } from '../../domain/transfer/transfer-events.js'
import { type EventStore, formatPosition, type RecordedEvent } from '../../event-store/event-store.js'
import { readEvent } from '../../event-store/read-event.js'
import { dayAfter, type StatementLine, statementLines } from '../../queries/statement.js'
import type { Total } from '../../queries/total-queries.js'
import { type Moment, wasThere } from './point-in-time.js'
import { walk } from './walk.js'

const dayLength = 'yyyy-mm-dd'.length

export interface StatementThen {
  /** Of the last event that counts; null when there is none. */
  readonly position: string | null
  readonly recordedAt: string | null
  readonly lines: readonly StatementLine[]
}

/**
 * A merchant's statement as it was at a moment: of one day, or of all that there is something to tell of. Counted from the log,
 * which is read from its start. @throws StoreUnavailableError, UnreadableEventError
 */
export async function statementAt(
  store: Pick<EventStore, 'readAll'>,
  merchantId: string,
  day: string | undefined,
  moment: Moment | undefined,
): Promise<StatementThen> {
  const until = moment && 'position' in moment ? moment.position : undefined
  const totals = new Map<string, Total>()
  let last: RecordedEvent | undefined
  for await (const { events } of walk(store, { until, streamPrefixes: [streamPrefix.transfer] })) {
    for (const recorded of events) {
      if (recorded.data.merchantId !== merchantId || !wasThere(recorded, moment)) continue
      const event = readEvent(recorded) as TransferEvent | undefined
      if (!event) continue
      count(totals, event)
      last = recorded
    }
  }
  const days = [...totals.values()].map(({ period }) => period).sort()
  const [first = day ?? '', end = first] = day === undefined ? [days[0], days.at(-1)] : [day, day]
  const lines = first === '' ? [] : statementLines([...totals.values()], first, dayAfter(end))
  return {
    position: last ? formatPosition(last.position) : null,
    recordedAt: last ? new Date(last.recordedAtMs).toISOString() : null,
    lines,
  }
}

function count(totals: Map<string, Total>, event: TransferEvent): void {
  const { kind, at } = event.data
  const period = at.slice(0, dayLength)
  for (const { counted, amountMinor, transactionAmountMinor } of figuresOf(event) ?? []) {
    const id = `${period}|${kind}|${counted}`
    const before = totals.get(id)
    totals.set(id, {
      ...{ period, kind, counted },
      count: (before?.count ?? 0) + 1,
      amountMinor: (before?.amountMinor ?? 0) + Number(amountMinor),
      transactionAmountMinor: (before?.transactionAmountMinor ?? 0) + Number(transactionAmountMinor),
    })
  }
}
