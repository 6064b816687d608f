import { type Currency, formatAmount } from '../domain/money.js'
import type { PaymentMethod } from '../domain/payment-method.js'
import { type Cell, type PeopleCsv, peopleCsv, peopleCsvHead } from '../kernel/csv.js'
import type { Page } from '../queries/list-page.js'
import type { TransferDocument } from '../read-models/documents.js'

/** The catalogue and the names that the file shows, because people read it. */
export interface TransferNames {
  readonly currency: Currency
  readonly paymentMethods: readonly PaymentMethod[]
  readonly merchantName: (merchantId: string) => string
}

const header = [
  ...['createdAt', 'updatedAt', 'kind', 'status', 'amount', 'transactionAmount', 'currency', 'hasAmountMismatch'],
  ...['needsAttention', 'paymentMethod', 'referenceId', 'trackingId', 'merchant', 'userId', 'name', 'username'],
  'accountNumber',
]

/** Yields the lines of each page. */
export async function* transfersCsv(
  pageAfter: (cursor: string | undefined) => Promise<Page<TransferDocument>>,
  names: TransferNames,
): AsyncGenerator<PeopleCsv> {
  let page = await pageAfter(undefined)
  yield peopleCsvHead(header)
  for (;;) {
    yield peopleCsv(page.items.map((row) => cellsOf(row, names)))
    if (page.nextCursor === null) return
    page = await pageAfter(page.nextCursor)
  }
}

function cellsOf(row: TransferDocument, { currency, paymentMethods, merchantName }: TransferNames): readonly Cell[] {
  const amount = (minor: number) => formatAmount(currency, BigInt(minor))
  const methodName = paymentMethods.find(({ code }) => code === row.paymentMethod)?.name ?? row.paymentMethod
  return [
    ...[row.createdAt, row.updatedAt, row.kind, row.status, amount(row.amountMinor)],
    ...[
      amount(row.transactionAmountMinor),
      currency.code,
      String(row.hasAmountMismatch),
      String(row.attention === 'open'),
    ],
    ...[methodName, row.referenceId, row._id, merchantName(row.merchantId)],
    ...[row.userId, row.name, row.username],
    row.accountNumber ?? '',
  ]
}
