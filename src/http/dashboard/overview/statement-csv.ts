import { type Currency, formatAmount } from '../../../domain/money.js'
import { type Column, type CsvReader, csvOf } from '../../../kernel/csv.js'
import type { StatementLine } from '../../../queries/statement.js'

/** Every line of the file contains these fields, so that it can be read without the page. The days are inclusive. */
interface StatementHead {
  /** `undefined` for several merchants together. */
  readonly merchant: { readonly name: string; readonly merchantId: string } | undefined
  readonly timeZone: string
  readonly firstDay: string
  readonly lastDay: string
  readonly currency: Currency
}

export function statementCsv(lines: readonly StatementLine[], head: StatementHead, reader: CsvReader): string {
  const csv = csvOf(columnsOf(head), reader)
  return csv.head + csv.lines(lines)
}

function columnsOf({ merchant, timeZone, firstDay, lastDay, currency }: StatementHead): Column<StatementLine>[] {
  const count = (name: string, of: (line: StatementLine) => number): Column<StatementLine> => {
    return { name, type: 'number', of: (line) => String(of(line)) }
  }
  const amount = (name: string, of: (line: StatementLine) => bigint): Column<StatementLine> => {
    return { name, type: 'number', of: (line) => formatAmount(currency, of(line)) }
  }
  return [
    { name: 'day', type: 'day', of: ({ day }) => day },
    { name: 'timeZone', type: 'word', of: () => timeZone },
    { name: 'periodFrom', type: 'day', of: () => firstDay },
    { name: 'periodTo', type: 'day', of: () => lastDay },
    { name: 'merchant', type: 'text', of: () => merchant?.name ?? '' },
    { name: 'merchantId', type: 'text', of: () => merchant?.merchantId ?? '' },
    { name: 'kind', type: 'word', of: ({ kind }) => kind },
    { name: 'currency', type: 'word', of: () => currency.code },
    count('requestedCount', ({ requestedCount }) => requestedCount),
    amount('requested', ({ requestedMinor }) => requestedMinor),
    amount('opening', ({ openingMinor }) => openingMinor),
    amount('received', ({ receivedMinor }) => receivedMinor),
    count('completedCount', ({ completedCount }) => completedCount),
    amount('booked', ({ completedMinor }) => completedMinor),
    amount('mismatch', ({ mismatchMinor }) => mismatchMinor),
    count('correctedCount', ({ correctedCount }) => correctedCount),
    amount('corrected', ({ correctedMinor }) => correctedMinor),
    amount('returned', ({ returnedMinor }) => returnedMinor),
    amount('refunded', ({ refundedMinor }) => refundedMinor),
    amount('kept', ({ keptMinor }) => keptMinor),
    amount('resolved', ({ resolvedMinor }) => resolvedMinor),
    amount('held', ({ heldMinor }) => heldMinor),
    count('openCount', ({ openCount }) => openCount),
    amount('open', ({ openMinor }) => openMinor),
  ]
}
