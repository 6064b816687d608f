import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { parseTermKey, termKey, termsPrefix } from '../read-models/transfer-terms.js'
import type { Page } from './list-page.js'

/** Places of terms, see {@link termKey}: from `from` on, before `to`. */
export interface TermRange {
  readonly merchantIds: readonly string[]
  readonly kinds: readonly TransferKind[]
  readonly from: string
  readonly to: string
  /** 1: as places are, newest first within a term. */
  readonly direction: 1 | -1
  /** By which of a transfer's terms it is shown, where several are in the range. */
  shownBy(transfer: TransferDocument): string | undefined
}

/** Entries looked at for one page: where nearly all lead to a transfer by another of its terms, the page is short instead of late. */
const maxLookedAt = 1_000

/**
 * The transfers that have a term in the range, in the order of the terms' places. `cursor`: the page before's `nextCursor`, and unlike
 * elsewhere there may be nothing behind the last one. @throws ReadModelsUnavailableError
 */
export async function listByTerms(
  readModels: ReadModels,
  range: TermRange,
  limit: number,
  cursor: string | undefined,
): Promise<Page<TransferDocument>> {
  const items: TransferDocument[] = []
  let after = cursor
  for (let lookedAt = 0; lookedAt < maxLookedAt; lookedAt += limit + 1) {
    const places = await placesOf(readModels, range, after, limit + 1)
    const transfers = await transfersOf(readModels, places)
    for (const place of places) {
      const { term, trackingId } = parseTermKey(place)
      if (items.length === limit) return { items, nextCursor: after ?? null }
      after = place
      const transfer = transfers.get(trackingId)
      if (transfer && range.shownBy(transfer) === term) items.push(transfer)
    }
    if (places.length <= limit) return { items, nextCursor: null }
  }
  return { items, nextCursor: after ?? null }
}

/** The next of all merchants and kinds together, each read no further than what is found already. */
async function placesOf(
  readModels: ReadModels,
  { merchantIds, kinds, from, to, direction }: TermRange,
  after: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  const collection = readModels.collection(collections.transferTerms)
  let found: readonly string[] = []
  for (const begin of merchantIds.flatMap((id) => kinds.map((kind) => termsPrefix(id, kind)))) {
    const worst = found.length === limit ? found[limit - 1]! : undefined
    const lower = direction === 1 ? { $gt: begin + (after ?? from) } : { $gte: begin + (worst ?? from) }
    const upper = { $lt: begin + ((direction === 1 ? worst : after) ?? to) }
    const filter = { _id: { ...lower, ...upper } }
    const documents = await collection.find(filter, { sort: { _id: direction }, limit })
    const places = documents.map(({ _id }) => _id.slice(begin.length))
    found = [...found, ...places].sort((a, b) => (a < b ? -direction : direction)).slice(0, limit)
  }
  return found
}

async function transfersOf(readModels: ReadModels, places: readonly string[]) {
  const ids = [...new Set(places.map((place) => parseTermKey(place).trackingId))]
  const found = ids.length === 0 ? [] : await readModels.collection(collections.transfers).find({ _id: { $in: ids } })
  return new Map(found.map((document) => [document._id, document as TransferDocument]))
}
