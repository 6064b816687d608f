import { trackingIdOf } from '../commands/ids.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import type { Status, Transfer } from '../domain/transfer/transfer.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { firstOf, type Order, type Page, type Place, pageOf, pageOfAll, type Run } from './list-page.js'

export interface TransferFilter {
  readonly status: Status | undefined
  readonly kind: TransferKind | undefined
  /** Created then or later; ISO 8601 in UTC with milliseconds. */
  readonly from: string | undefined
  /** Created before. */
  readonly to: string | undefined
  readonly limit: number
  readonly cursor: Place | undefined
}

export const transferKinds: readonly TransferKind[] = ['deposit', 'withdrawal']
/** As they follow one another: a transfer that goes on between two reads is met again, and not missed. */
const statuses: readonly Status[] = ['Pending', 'ManualControl', 'Cancelled', 'Failed', 'Completed']

/** A filter leaves open at most two kinds times five statuses; with each merchant, these are the ranges of an index. */
export interface Ranges {
  /** Of all when undefined. */
  readonly merchantIds: readonly string[] | undefined
  readonly kind: TransferKind | undefined
  readonly status: Status | undefined
}

/** See `indexes.transfers`. */
export function runsOf({ merchantIds, kind, status }: Ranges, bounds: Pick<Run, 'from' | 'to'>): readonly Run[] {
  const merchants = merchantIds ? [...new Set(merchantIds)].map((merchantId) => ({ merchantId })) : [{}]
  return merchants.flatMap((merchant) =>
    (kind ? [kind] : transferKinds).flatMap((kind) =>
      (status ? [status] : statuses).map((status) => ({ equal: { ...merchant, kind, status }, ...bounds })),
    ),
  )
}

const newestFirst: Order = { field: 'createdAt', direction: -1 }

/**
 * Transfers newest first, of one merchant or of all, from the read model. No more than a page is read of any range.
 * @throws ReadModelsUnavailableError
 */
export async function listTransfers(
  readModels: ReadModels,
  merchantId: string | undefined,
  { status, kind, from, to, limit, cursor }: TransferFilter,
): Promise<Page<TransferDocument>> {
  const merchantIds = merchantId === undefined ? undefined : [merchantId]
  return pageOfRuns(readModels, newestFirst, runsOf({ merchantIds, kind, status }, { from, to }), { limit, cursor })
}

/** Deposits of all merchants about whose money a person has to decide, newest first. @throws ReadModelsUnavailableError */
export function listNeedingAttention(
  readModels: ReadModels,
  page: Pick<TransferFilter, 'limit' | 'cursor'>,
): Promise<Page<TransferDocument>> {
  return pageOfRuns(readModels, newestFirst, [{ equal: { attention: 'open' } }], page)
}

/** @throws ReadModelsUnavailableError */
export async function pageOfRuns(
  readModels: ReadModels,
  order: Order,
  runs: readonly Run[],
  { limit, cursor }: Pick<TransferFilter, 'limit' | 'cursor'>,
): Promise<Page<TransferDocument>> {
  const collection = readModels.collection(collections.transfers)
  const found = (await firstOf(collection, order, runs, cursor, limit + 1)) as readonly TransferDocument[]
  return pageOf(found, limit, (document) => ({ at: document[order.field] as Place['at'], id: document._id }))
}

/** Those whose id begins so, at most `limit`. @throws ReadModelsUnavailableError */
export async function transfersThatBegin(
  readModels: ReadModels,
  start: string,
  limit: number,
): Promise<readonly TransferDocument[]> {
  // No digit of an id is behind f.
  const range = { _id: { $gte: start, $lt: `${start}g` } }
  const found = await readModels.collection(collections.transfers).find(range, { sort: { _id: 1 }, limit })
  return found as readonly TransferDocument[]
}

export interface FoundTransfer {
  readonly transfer: Transfer
  readonly revision: number
}

/**
 * The transfers of these merchants under a referenceId, newest first. From the log, so never behind: a trackingId derives from
 * merchant, kind and referenceId, and there is nothing to search. @throws StoreUnavailableError
 */
export async function listByReferenceId(
  transfers: Pick<TransferCommands, 'find'>,
  merchantIds: readonly string[],
  referenceId: string,
  { status, kind, from, to, limit, cursor }: TransferFilter,
): Promise<Page<FoundTransfer>> {
  const found: FoundTransfer[] = []
  for (const merchantId of merchantIds) {
    for (const each of kind ? [kind] : transferKinds) {
      const transfer = await transfers.find(trackingIdOf(merchantId, each, referenceId))
      if (transfer) found.push(transfer)
    }
  }
  const wanted = found
    .filter(({ transfer }) => (status ?? transfer.status) === transfer.status)
    .filter(({ transfer: { createdAt } }) => (from ?? createdAt) <= createdAt && (to === undefined || createdAt < to))
  return pageOfAll(wanted, { limit, cursor }, ({ transfer }) => ({ at: transfer.createdAt, id: transfer.trackingId }))
}
