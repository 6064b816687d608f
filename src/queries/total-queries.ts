import type { Counted } from '../domain/transfer/transfer.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { allMerchants, collections, type TotalDocument, totalsPrefix } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

/** A figure of one kind within one hour, day or month. */
export interface Total {
  /** `2026-11-21T14`, `2026-11-21` or `2026-11`. */
  readonly period: string
  readonly kind: TransferKind
  readonly counted: Counted
  readonly count: number
  readonly amountMinor: number
  readonly transactionAmountMinor: number
}

/**
 * Returns the totals of these merchants, or of all. `from` is inclusive, `to` is exclusive, and both are periods of the same length.
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
    const prefix = totalsPrefix(merchantId, to.length)
    const documents = await collection.find({ _id: { $gte: prefix + from, $lt: prefix + to } }, { sort: { _id: 1 } })
    for (const document of documents as readonly TotalDocument[]) {
      const key = document._id.slice(prefix.length)
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
