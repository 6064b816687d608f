import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { parseTermKey, termKey, termsPrefix } from '../read-models/transfer-document.js'
import type { Page } from './list-page.js'

/** A range of {@link termKey}s; `from` is inclusive, `to` is exclusive. */
export interface TermRange {
  readonly merchantIds: readonly string[]
  readonly kinds: readonly TransferKind[]
  readonly from: string
  readonly to: string
  /** 1 sorts by key, newest first within a term. */
  readonly direction: 1 | -1
  /** Returns the term under which a transfer with several terms in the range is listed. */
  shownBy(transfer: TransferDocument): string | undefined
}

/** The limit of entries per page. If most entries are other terms of listed transfers, the page is short instead of slow. */
const maxRead = 1_000

/**
 * Returns the transfers with a term in the range, in the order of the keys. Unlike in other lists, the page after `nextCursor` can be empty.
 * @throws ReadModelsUnavailableError
 */
export async function listByTerms(
  readModels: ReadModels,
  range: TermRange,
  limit: number,
  cursor: string | undefined,
): Promise<Page<TransferDocument>> {
  const items: TransferDocument[] = []
  let after = cursor
  for (let read = 0; read < maxRead; read += limit + 1) {
    const keys = await keysOf(readModels, range, after, limit + 1)
    const transfers = await transfersOf(readModels, keys)
    for (const key of keys) {
      const { term, trackingId } = parseTermKey(key)
      if (items.length === limit) return { items, nextCursor: after ?? null }
      after = key
      const transfer = transfers.get(trackingId)
      if (transfer && range.shownBy(transfer) === term) items.push(transfer)
    }
    if (keys.length <= limit) return { items, nextCursor: null }
  }
  return { items, nextCursor: after ?? null }
}

/** Returns the next keys of all merchants and kinds, each read only up to the last key that still fits. */
async function keysOf(
  readModels: ReadModels,
  { merchantIds, kinds, from, to, direction }: TermRange,
  after: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  const collection = readModels.collection(collections.transferTerms)
  let found: readonly string[] = []
  for (const prefix of merchantIds.flatMap((id) => kinds.map((kind) => termsPrefix(id, kind)))) {
    const worst = found.length === limit ? found[limit - 1]! : undefined
    const lower = direction === 1 ? { $gt: prefix + (after ?? from) } : { $gte: prefix + (worst ?? from) }
    const upper = { $lt: prefix + ((direction === 1 ? worst : after) ?? to) }
    const filter = { _id: { ...lower, ...upper } }
    const documents = await collection.find(filter, { sort: { _id: direction }, limit })
    const keys = documents.map(({ _id }) => _id.slice(prefix.length))
    found = [...found, ...keys].sort((a, b) => (a < b ? -direction : direction)).slice(0, limit)
  }
  return found
}

async function transfersOf(readModels: ReadModels, keys: readonly string[]) {
  const ids = [...new Set(keys.map((key) => parseTermKey(key).trackingId))]
  const found = ids.length === 0 ? [] : await readModels.collection(collections.transfers).find({ _id: { $in: ids } })
  return new Map(found.map((document) => [document._id, document as TransferDocument]))
}
