import { trackingIdOf } from '../commands/ids.js'
import type { FoundTransfer } from '../commands/transfer/transfer-requests.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import type { Status } from '../domain/transfer/status.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import { firstUuid } from '../read-models/fields.js'
import type { ReadModels } from '../read-models/read-models.js'
import {
  firstOf,
  type Order,
  type PageRequest,
  pageOf,
  pageOfAll,
  positionOfId,
  type Run,
  type Runs,
  type SortKey,
} from './list-page.js'

/** The sources of queries that read only lists. */
export interface ListSources {
  readonly readModels: ReadModels
}

export interface TransferFilter extends PageRequest {
  readonly status?: Status | undefined
  readonly kind?: TransferKind | undefined
  /** Inclusive time of creation; ISO 8601 in UTC with milliseconds. */
  readonly from?: string | undefined
  /** Exclusive time of creation. */
  readonly to?: string | undefined
}

export const transferKinds: readonly TransferKind[] = ['deposit', 'withdrawal']
/** In this order, a transfer whose status changes between two reads is found twice instead of missed. */
const statuses: readonly Status[] = ['Pending', 'ManualControl', 'Cancelled', 'Failed', 'Completed']

/** A filter matches at most two kinds times five statuses. For each merchant, these are the ranges of an index. */
export interface Ranges {
  /** `undefined` for all merchants. */
  readonly merchantIds?: readonly string[] | undefined
  readonly kind?: TransferKind | undefined
  readonly status?: Status | undefined
}

export function runsOf({ merchantIds, kind, status }: Ranges, bounds: Pick<Run, 'from' | 'to'> = {}): readonly Run[] {
  const merchants = merchantIds ? [...new Set(merchantIds)].map((merchantId) => ({ merchantId })) : [{}]
  return merchants.flatMap((merchant) =>
    (kind ? [kind] : transferKinds).flatMap((kind) =>
      (status ? [status] : statuses).map((status) => ({ equal: { ...merchant, kind, status }, ...bounds })),
    ),
  )
}

export const newestFirst: Order = { field: 'createdAt', direction: -1 }
export const oldestFirst: Order = { field: 'createdAt', direction: 1 }

/**
 * Lists the transfers of one merchant or of all from the read model, newest first. At most one page is read of each range.
 * @throws ReadModelsUnavailableError
 */
export function listTransfers(
  { readModels }: ListSources,
  query: TransferFilter & { readonly merchantId?: string | undefined },
) {
  const { merchantId, kind, status, from, to } = query
  const merchantIds = merchantId === undefined ? undefined : [merchantId]
  return pageOfRuns(readModels, newestFirst, runsOf({ merchantIds, kind, status }, { from, to }), query)
}

/** Lists the transfers of all merchants that need a decision, newest first. @throws ReadModelsUnavailableError */
export function listNeedingAttention(readModels: ReadModels, page: PageRequest) {
  const runs = transferKinds.map((kind) => ({ equal: { attention: kind } }))
  return pageOfRuns(readModels, newestFirst, runs, page)
}

/** @throws ReadModelsUnavailableError */
export async function pageOfRuns(readModels: ReadModels, order: Order, runs: Runs, page: PageRequest) {
  const { limit, cursor } = page
  const found = await firstTransfers(readModels, order, runs, limit + 1, cursor)
  return pageOf(found, limit, (document) => ({
    at: document[order.field] as SortKey['at'],
    position: document.position,
  }))
}

/** @throws ReadModelsUnavailableError */
export function firstTransfers(readModels: ReadModels, order: Order, runs: Runs, limit: number, cursor?: SortKey) {
  const collection = readModels.collection(collections.transfers)
  return firstOf<TransferDocument>(collection, order, runs, { limit, cursor })
}

/**
 * Returns at most `limit` transfers by a prefix of their trackingId, in which hyphens are in their places.
 * @throws ReadModelsUnavailableError
 */
export async function transfersByIdPrefix(readModels: ReadModels, prefix: string, limit: number) {
  // Complete UUIDs, because a range compares them with UUIDs only.
  const rest = firstUuid.slice(prefix.length)
  const range = { _id: { $gte: prefix + rest, $lte: prefix + rest.replaceAll('0', 'f') } }
  const found = await readModels.collection(collections.transfers).find(range, { sort: { _id: 1 }, limit })
  return found as readonly TransferDocument[]
}

/**
 * Lists the transfers of these merchants with a referenceId, newest first. They are read from the log and therefore never behind: a
 * trackingId derives from merchant, kind and referenceId, so that no search is needed. @throws StoreUnavailableError
 */
export async function listByReferenceId(
  transfers: Pick<TransferCommands, 'find'>,
  merchantIds: readonly string[],
  referenceId: string,
  { status, kind, from, to, ...page }: TransferFilter,
) {
  const found: FoundTransfer[] = []
  for (const merchantId of merchantIds) {
    for (const each of kind ? [kind] : transferKinds) {
      const transfer = await transfers.find(trackingIdOf(merchantId, each, referenceId))
      if (transfer) found.push(transfer)
    }
  }
  const matching = found
    .filter(({ transfer }) => (status ?? transfer.status) === transfer.status)
    .filter(({ transfer: { createdAt } }) => (from ?? createdAt) <= createdAt && (to === undefined || createdAt < to))
  return pageOfAll(matching, page, ({ transfer }) => ({
    at: transfer.createdAt,
    position: positionOfId(transfer.trackingId),
  }))
}
