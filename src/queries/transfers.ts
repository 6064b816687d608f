import { trackingIdOf } from '../commands/ids.js'
import type { TransferCommands } from '../commands/transfers.js'
import type { TransferKind } from '../domain/transfer/events.js'
import type { Status, Transfer } from '../domain/transfer/transfer.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { newestOf, type Page, type Place, pageOf, pageOfAll, type Run } from './list-page.js'

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

const kinds: readonly TransferKind[] = ['deposit', 'withdrawal']
/** As they follow one another: a transfer that goes on between two reads is met again, and not missed. */
const statuses: readonly Status[] = ['Pending', 'ManualControl', 'Cancelled', 'Failed', 'Completed']

/**
 * Transfers newest first, of one merchant or of all, from the read model. A filter leaves open at most two kinds times five
 * statuses; each of these is a range of one index (see `indexes.transfers`), and no more than a page is read of any.
 * @throws ReadModelsUnavailableError
 */
export async function listTransfers(
  readModels: ReadModels,
  merchantId: string | undefined,
  { status, kind, from, to, limit, cursor }: TransferFilter,
): Promise<Page<TransferDocument>> {
  const runs = (kind ? [kind] : kinds).flatMap((kind) =>
    (status ? [status] : statuses).map((status): Run => {
      const equal = { ...(merchantId !== undefined && { merchantId }), kind, status }
      return { equal, from, to }
    }),
  )
  return pageOfRuns(readModels, runs, { limit, cursor })
}

/** Deposits of all merchants about whose money a person has to decide, newest first. @throws ReadModelsUnavailableError */
export function listNeedingAttention(
  readModels: ReadModels,
  page: Pick<TransferFilter, 'limit' | 'cursor'>,
): Promise<Page<TransferDocument>> {
  return pageOfRuns(readModels, [{ equal: { attention: 'open' } }], page)
}

async function pageOfRuns(
  readModels: ReadModels,
  runs: readonly Run[],
  { limit, cursor }: Pick<TransferFilter, 'limit' | 'cursor'>,
): Promise<Page<TransferDocument>> {
  const collection = readModels.collection(collections.transfers)
  const found = (await newestOf(collection, 'createdAt', runs, cursor, limit + 1)) as readonly TransferDocument[]
  return pageOf(found, limit, ({ createdAt, _id }) => ({ time: createdAt, id: _id }))
}

/** Whole ids, at most two: more than one is no answer. @throws ReadModelsUnavailableError */
export async function trackingIdsThatBegin(readModels: ReadModels, start: string): Promise<readonly string[]> {
  // No digit of an id is behind f.
  const range = { _id: { $gte: start, $lt: `${start}g` } }
  const found = await readModels.collection(collections.transfers).find(range, { sort: { _id: 1 }, limit: 2 })
  return found.map(({ _id }) => _id)
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
    for (const each of kind ? [kind] : kinds) {
      const transfer = await transfers.find(trackingIdOf(merchantId, each, referenceId))
      if (transfer) found.push(transfer)
    }
  }
  const wanted = found
    .filter(({ transfer }) => (status ?? transfer.status) === transfer.status)
    .filter(({ transfer: { createdAt } }) => (from ?? createdAt) <= createdAt && (to === undefined || createdAt < to))
  return pageOfAll(wanted, { limit, cursor }, ({ transfer }) => ({ time: transfer.createdAt, id: transfer.trackingId }))
}
