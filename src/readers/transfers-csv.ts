import { type Currency, formatAmount } from '../domain/money.js'
import type { PaymentMethod } from '../domain/payment-method.js'
import { keptMinor, returnedMinor, unsettledMinor } from '../domain/transfer/transfer.js'
import { type Column, type CsvReader, csvOf } from '../kernel/csv.js'
import type { Page } from '../queries/list-page.js'
import type { TransferDocument } from '../read-models/documents.js'
import { transferOf } from '../read-models/transfer-document.js'

/** The catalogue and the names that the file shows. */
export interface TransferNames {
  readonly currency: Currency
  readonly paymentMethods: readonly PaymentMethod[]
  readonly merchantName: (merchantId: string) => string
}

/** Yields the lines of each page. */
export async function* transfersCsv(
  pageAfter: (cursor: string | undefined) => Promise<Page<TransferDocument>>,
  names: TransferNames,
  reader: CsvReader,
): AsyncGenerator<string> {
  const { head, lines } = csvOf(columnsOf(names, reader), reader)
  let page = await pageAfter(undefined)
  yield head
  for (;;) {
    yield lines(page.items.map(rowOf))
    if (page.nextCursor === null) return
    page = await pageAfter(page.nextCursor)
  }
}

type Row = ReturnType<typeof rowOf>

/**
 * The money of a deposit adds up: received = booked - refunded + returned + resolved + held; that of a withdrawal: booked = kept + returned,
 * and returned = resolved + held. `corrected` is the part of the booked amount that corrections added, and `late` a part of the received
 * amount.
 */
function rowOf(document: TransferDocument) {
  const transfer = transferOf(document)
  const bookedMinor = transfer.status === 'Completed' ? transfer.transactionAmountMinor : 0n
  const correctedMinor = bookedMinor - (transfer.corrections[0]?.fromMinor ?? bookedMinor)
  const heldMinor = unsettledMinor(transfer)
  const booked = { bookedMinor, correctedMinor }
  const lateMinor = BigInt(document.lateMinor ?? 0)
  const money = { document, ...booked, heldMinor, lateMinor }
  if (transfer.kind === 'withdrawal') {
    const { resolvedMinor } = transfer
    const [returned, kept] = [returnedMinor(transfer), keptMinor(transfer)]
    return { ...money, receivedMinor: 0n, returnedMinor: returned, refundedMinor: 0n, keptMinor: kept, resolvedMinor }
  }
  const { receivedMinor, refundedMinor, resolvedMinor } = transfer.funds
  const returned = returnedMinor(transfer.funds)
  return { ...money, receivedMinor, returnedMinor: returned, refundedMinor, keptMinor: 0n, resolvedMinor }
}

function columnsOf({ currency, paymentMethods, merchantName }: TransferNames, reader: CsvReader): Column<Row>[] {
  const timeZone = reader === 'programs' ? 'UTC' : reader.timeZone
  const amount = (name: string, of: (row: Row) => bigint): Column<Row> => {
    return { name, type: 'number', of: (row) => formatAmount(currency, of(row)) }
  }
  const field = (type: Column<Row>['type'], name: string, of: (document: TransferDocument) => string): Column<Row> => {
    return { name, type, of: ({ document }) => of(document) }
  }
  const methodName = (code: number) => paymentMethods.find((each) => each.code === code)?.name ?? String(code)
  return [
    field('time', 'createdAt', ({ createdAt }) => createdAt),
    field('time', 'updatedAt', ({ updatedAt }) => updatedAt),
    field('time', 'completedAt', ({ completedAt = '' }) => completedAt),
    field('word', 'timeZone', () => timeZone),
    field('word', 'kind', ({ kind }) => kind),
    field('word', 'status', ({ status }) => status),
    amount('amount', ({ document }) => BigInt(document.amountMinor)),
    amount('transactionAmount', ({ document }) => BigInt(document.transactionAmountMinor)),
    amount('received', ({ receivedMinor }) => receivedMinor),
    amount('booked', ({ bookedMinor }) => bookedMinor),
    amount('corrected', ({ correctedMinor }) => correctedMinor),
    amount('returned', (row) => row.returnedMinor),
    amount('kept', (row) => row.keptMinor),
    amount('refunded', ({ refundedMinor }) => refundedMinor),
    amount('resolved', ({ resolvedMinor }) => resolvedMinor),
    amount('held', ({ heldMinor }) => heldMinor),
    amount('late', ({ lateMinor }) => lateMinor),
    field('word', 'currency', () => currency.code),
    field('word', 'hasAmountMismatch', ({ hasAmountMismatch }) => yesNo(hasAmountMismatch)),
    field('word', 'needsAttention', ({ attention }) => yesNo(attention !== undefined)),
    field('text', 'paymentMethod', ({ paymentMethod }) => methodName(paymentMethod)),
    field('text', 'referenceId', ({ referenceId }) => referenceId),
    field('text', 'trackingId', ({ _id }) => _id),
    field('text', 'refundOf', ({ refundOf = '' }) => refundOf),
    field('text', 'merchant', ({ merchantId }) => merchantName(merchantId)),
    field('text', 'merchantId', ({ merchantId }) => merchantId),
    field('text', 'userId', ({ userId }) => userId),
    field('text', 'name', ({ name }) => name),
    field('text', 'username', ({ username }) => username),
    field('text', 'accountNumber', ({ accountNumber = '' }) => accountNumber),
    ...(reader === 'programs' ? [field('text', 'metadata', ({ metadata = '' }) => metadata)] : []),
  ]
}

/** Spreadsheets translate true and false. */
const yesNo = (value: boolean): string => (value ? 'yes' : 'no')
