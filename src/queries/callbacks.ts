import type { CallbackCommands } from '../commands/callbacks.js'
import { type CallbackDocument, collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { newestOf, type Page, type Place, pageOf, pageOfAll, type Run } from './list-page.js'

/** As they follow one another: a callback that goes on between two reads is met again, and not missed. */
export const callbackStatuses = ['waiting', 'parked', 'delivered'] as const

export interface CallbackFilter {
  readonly merchantId: string | undefined
  readonly status: CallbackDocument['status'] | undefined
  readonly limit: number
  readonly cursor: Place | undefined
}

/** A callback as lists show it. */
export interface ListedCallback {
  readonly webhookId: string
  readonly trackingId: string
  readonly merchantId: string
  readonly referenceId: string
  readonly transferRevision: number
  /** 1 to 5: the status of the transfer it tells about. */
  readonly transferStatus: number
  readonly status: CallbackDocument['status']
  readonly failedAttempts: number
  readonly recordedAt: string
  /** When the next attempt is due; null where none is. */
  readonly dueAt: string | null
  readonly lastFailure: string | null
}

/**
 * Callbacks newest first, of one merchant or of all, from the read model: a range of an index (see `indexes.callbacks`) for each
 * state. @throws ReadModelsUnavailableError
 */
export async function listCallbacks(
  readModels: ReadModels,
  { merchantId, status, limit, cursor }: CallbackFilter,
): Promise<Page<ListedCallback>> {
  const runs = (status ? [status] : callbackStatuses).map(
    (status): Run => ({ equal: { ...(merchantId !== undefined && { merchantId }), status } }),
  )
  const collection = readModels.collection(collections.callbacks)
  const found = (await newestOf(collection, 'recordedAt', runs, cursor, limit + 1)) as readonly CallbackDocument[]
  const items = found.map((callback) => ({
    webhookId: callback._id,
    trackingId: callback.trackingId,
    merchantId: callback.merchantId,
    referenceId: callback.referenceId,
    transferRevision: callback.transferRevision,
    transferStatus: callback.transferStatus,
    status: callback.status,
    failedAttempts: callback.attempts,
    recordedAt: callback.recordedAt,
    dueAt: callback.dueAt ?? null,
    lastFailure: callback.lastFailure,
  }))
  return pageOf(items, limit, placeOf)
}

/** The callbacks of one transfer, newest first, from the log. @throws StoreUnavailableError */
export async function listCallbacksOfTransfer(
  callbacks: Pick<CallbackCommands, 'lane'>,
  trackingId: string,
  filter: CallbackFilter,
): Promise<Page<ListedCallback>> {
  const { deliveries, merchantId } = await callbacks.lane(trackingId)
  if (merchantId === null || (filter.merchantId ?? merchantId) !== merchantId) return { items: [], nextCursor: null }
  const items = deliveries
    .filter(({ status }) => (filter.status ?? status) === status)
    .map(({ webhookId, transferRevision, payload, status, attempts, recordedAt, nextAttemptAt, lastFailure }) => ({
      webhookId,
      trackingId,
      merchantId,
      referenceId: payload.referenceId,
      transferRevision,
      transferStatus: payload.status,
      status,
      failedAttempts: attempts,
      recordedAt,
      dueAt: status === 'waiting' ? nextAttemptAt : null,
      lastFailure,
    }))
  return pageOfAll(items, filter, placeOf)
}

function placeOf({ recordedAt, webhookId }: ListedCallback): Place {
  return { time: recordedAt, id: webhookId }
}
