import { trackingIdOf } from '../commands/ids.js'
import type { TransferKind } from '../domain/transfer/events.js'
import type { Status } from '../domain/transfer/transfer.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { Condition, Filter } from '../read-models/read-models.js'
import type { HttpDependencies } from './dependencies.js'
import { type Cursor, formatCursor } from './query-values.js'
import type { TransferView } from './schemas/queries.js'
import { viewOfDocument, viewOfTransfer } from './transfer-view.js'

export interface TransferListQuery {
  readonly merchantId: string
  readonly referenceId: string | undefined
  readonly status: Status | undefined
  readonly kind: TransferKind | undefined
  /** Inclusive. */
  readonly from: string | undefined
  /** Exclusive. */
  readonly to: string | undefined
  readonly limit: number
  readonly cursor: Cursor | undefined
}

export interface TransferList {
  readonly items: TransferView[]
  readonly nextCursor: string | null
}

/** Newest first. With a referenceId from the log, as its trackingIds follow from it; otherwise from the read model. */
export async function listTransfers(deps: HttpDependencies, query: TransferListQuery): Promise<TransferList> {
  if (query.referenceId !== undefined) return byReferenceId(deps, query, query.referenceId)
  const documents = await deps.readModels
    .collection(collections.transfers)
    .find(filterOf(query), { sort: { createdAt: -1, _id: -1 }, limit: query.limit + 1 })
  const items = (documents as TransferDocument[]).slice(0, query.limit).map(viewOfDocument)
  const last = items.at(-1)
  return { items, nextCursor: last && documents.length > query.limit ? formatCursor(last) : null }
}

function filterOf({ merchantId, status, kind, from, to, cursor }: TransferListQuery): Filter {
  const createdAt: Condition = {
    ...(from && { $gte: from }),
    ...(to && { $lt: to }),
    ...(cursor && { $lte: cursor.createdAt }),
  }
  const fields: Filter = {
    merchantId: { $eq: merchantId },
    ...(status && { status: { $eq: status } }),
    ...(kind && { kind: { $eq: kind } }),
    ...(Object.keys(createdAt).length > 0 && { createdAt }),
  }
  if (!cursor) return fields
  return { $and: [fields, { $or: [{ createdAt: { $lt: cursor.createdAt } }, { _id: { $lt: cursor.trackingId } }] }] }
}

/** At most two: a deposit and a withdrawal. */
async function byReferenceId(
  { transfers }: HttpDependencies,
  query: TransferListQuery,
  referenceId: string,
): Promise<TransferList> {
  const kinds: readonly TransferKind[] = query.kind ? [query.kind] : ['deposit', 'withdrawal']
  const ids = kinds.map((kind) => trackingIdOf(query.merchantId, kind, referenceId))
  const found = await Promise.all(ids.map((id) => transfers.find(id)))
  const items = found
    .flatMap((each) => (each ? [viewOfTransfer(each.transfer, each.revision)] : []))
    .filter((item) => matches(item, query))
    .sort((a, b) => (newestFirst(a) < newestFirst(b) ? 1 : -1))
  const page = items.slice(0, query.limit)
  const last = page.at(-1)
  return { items: page, nextCursor: last && items.length > page.length ? formatCursor(last) : null }
}

function matches(item: TransferView, { status, from, to, cursor }: TransferListQuery): boolean {
  if (status && item.statusDescription !== status) return false
  if (from && item.createdAt < from) return false
  if (to && item.createdAt >= to) return false
  return !cursor || newestFirst(item) < newestFirst(cursor)
}

function newestFirst({ createdAt, trackingId }: Cursor): string {
  return `${createdAt}|${trackingId}`
}
