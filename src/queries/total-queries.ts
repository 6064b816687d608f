import type { Counted } from '../domain/transfer/figures.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { allMerchants, collections, type TotalDocument, totalsPrefix } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

/** What was counted of one kind within one hour, day or month. */
export interface Total {
  /** As {@link TotalDocument} names it: `2026-11-21T14`, `2026-11-21`, `2026-11`. */
  readonly period: string
  readonly kind: TransferKind
  readonly counted: Counted
  readonly count: number
  readonly amountMinor: number
  readonly transactionAmountMinor: number
}

/**
 * The totals of these merchants, or of all, from a period on and before another; both are written as periods of one length are.
 * @throws ReadModelsUnavailableError
 */
export async function readTotals(
  readModels: ReadModels,
  merchantIds: readonly string[] | undefined,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<readonly Total[]> {
  if (from >= to) return []
  const collection = readModels.collection(collections.totals)
  const found = new Map<string, Total>()
  for (const merchantId of new Set(merchantIds ?? [allMerchants])) {
    const begin = totalsPrefix(merchantId, to.length)
    const documents = await collection.find({ _id: { $gte: begin + from, $lt: begin + to } }, { sort: { _id: 1 } })
    for (const document of documents as readonly TotalDocument[]) {
      const key = document._id.slice(begin.length)
      found.set(key, sum(found.get(key), document, key.slice(0, to.length)))
    }
  }
  return [...found.values()]
}

function sum(before: Total | undefined, document: TotalDocument, period: string): Total {
  const { kind, counted, count, amountMinor, transactionAmountMinor } = document
  return {
    ...{ period, kind, counted },
    count: count + (before?.count ?? 0),
    amountMinor: amountMinor + (before?.amountMinor ?? 0),
    transactionAmountMinor: transactionAmountMinor + (before?.transactionAmountMinor ?? 0),
  }
}
