import { type CallbackDocument, collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { newestOf, type Page, type Place, pageOf, type Run } from './list-page.js'

/** As they follow one another: a callback that goes on between two reads is met again, and not missed. */
export const callbackStatuses = ['waiting', 'parked', 'delivered'] as const

export interface CallbackFilter {
  readonly merchantId: string | undefined
  readonly status: CallbackDocument['status'] | undefined
  readonly limit: number
  readonly cursor: Place | undefined
}

/**
 * Callbacks newest first, of one merchant or of all, from the read model: a range of an index (see `indexes.callbacks`) for each
 * state. @throws ReadModelsUnavailableError
 */
export async function listCallbacks(
  readModels: ReadModels,
  { merchantId, status, limit, cursor }: CallbackFilter,
): Promise<Page<CallbackDocument>> {
  const runs = (status ? [status] : callbackStatuses).map(
    (status): Run => ({ equal: { ...(merchantId !== undefined && { merchantId }), status } }),
  )
  const collection = readModels.collection(collections.callbacks)
  const found = (await newestOf(collection, 'recordedAt', runs, cursor, limit + 1)) as readonly CallbackDocument[]
  return pageOf(found, limit, ({ recordedAt, _id }) => ({ time: recordedAt, id: _id }))
}
