import type { CallbackCommands } from '../commands/callback/callback-commands.js'
import { type CallbackDocument, collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { firstOf, type Order, type Page, type Place, pageOf, pageOfAll, type Run } from './list-page.js'

/** As they follow one another: a callback that goes on between two reads is met again, and not missed. */
export const callbackStatuses = ['waiting', 'parked', 'delivered'] as const

const newestFirst: Order = { field: 'recordedAt', direction: -1 }

export interface CallbackFilter {
  /** Of these; of all merchants when absent. */
  readonly merchantIds: readonly string[] | undefined
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
 * Callbacks newest first, of some merchants or of all, from the read model: a range of an index (see `indexes.callbacks`) for each
 * merchant and state. @throws ReadModelsUnavailableError
 */
export async function listCallbacks(
  readModels: ReadModels,
  { merchantIds, status, limit, cursor }: CallbackFilter,
): Promise<Page<ListedCallback>> {
  const owners = merchantIds?.map((merchantId) => ({ merchantId })) ?? [{}]
  const runs = (status ? [status] : callbackStatuses).flatMap((status) =>
    owners.map((owner): Run => ({ equal: { ...owner, status } })),
  )
  const collection = readModels.collection(collections.callbacks)
  const found = (await firstOf(collection, newestFirst, runs, cursor, limit + 1)) as readonly CallbackDocument[]
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
  const { merchantIds = [merchantId] } = filter
  if (merchantId === null || !merchantIds.includes(merchantId)) return { items: [], nextCursor: null }
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

export interface ParkedCallbacks {
  readonly callbacks: readonly { readonly trackingId: string; readonly webhookId: string }[]
  /** There may be others. */
  readonly more: boolean
}

const parkedPage = 500
/** Looked at for one answer: what was parked before the time in question stands among the others. */
const maxParkedLookedAt = 20_000

/**
 * A merchant's callbacks that were given up then (ISO 8601) or later, at most `limit`. Those recorded last come first, as the index has
 * them. @throws ReadModelsUnavailableError
 */
export async function listParkedSince(
  readModels: ReadModels,
  merchantId: string,
  since: string,
  limit: number,
): Promise<ParkedCallbacks> {
  const collection = readModels.collection(collections.callbacks)
  const run: Run = { equal: { merchantId, status: 'parked' } }
  const callbacks: { trackingId: string; webhookId: string }[] = []
  let after: Place | undefined
  for (let lookedAt = 0; lookedAt < maxParkedLookedAt; lookedAt += parkedPage) {
    const page = (await firstOf(collection, newestFirst, [run], after, parkedPage)) as readonly CallbackDocument[]
    for (const { trackingId, _id: webhookId, parkedAt = '' } of page) {
      if (parkedAt < since) continue
      if (callbacks.length === limit) return { callbacks, more: true }
      callbacks.push({ trackingId, webhookId })
    }
    const last = page.at(-1)
    if (!last || page.length < parkedPage) return { callbacks, more: false }
    after = { at: last.recordedAt, id: last._id }
  }
  return { callbacks, more: true }
}

function placeOf({ recordedAt, webhookId }: ListedCallback): Place {
  return { at: recordedAt, id: webhookId }
}
