import type { CallbackCommands } from '../commands/callback/callback-commands.js'
import { type CallbackDocument, collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import {
  firstOf,
  type Order,
  type Page,
  type PageRequest,
  pageOf,
  pageOfAll,
  type Run,
  type SortKey,
} from './list-page.js'
import type { ListSources } from './transfer-queries.js'

/** In this order, a callback whose status changes between two reads is found twice instead of missed. */
export const callbackStatuses = ['waiting', 'parked', 'delivered'] as const

const newestFirst: Order = { field: 'recordedAt', direction: -1 }

export interface CallbackFilter extends PageRequest {
  /** `undefined` for all merchants. */
  readonly merchantIds?: readonly string[] | undefined
  readonly status?: CallbackDocument['status'] | undefined
}

type ListedFields = Pick<
  CallbackDocument,
  | (
      | '_id'
      | 'trackingId'
      | 'merchantId'
      | 'referenceId'
      | 'transferRevision'
      | 'transferStatus'
      | 'status'
      | 'attempts'
    )
  | ('recordedAt' | 'dueAt')
> & { readonly lastFailure?: string | null }

/** A callback in a list. `dueAt` is the time of the next attempt; `null` if none is due. */
export type ListedCallback = ReturnType<typeof listed>

/**
 * Lists callbacks of some merchants or of all from the read model, newest first. Each merchant and status is a range of an index (see
 * `indexes.callbacks`). @throws ReadModelsUnavailableError
 */
export async function listCallbacks({ readModels }: ListSources, query: CallbackFilter) {
  const { merchantIds, status, limit, cursor } = query
  const owners = merchantIds?.map((merchantId) => ({ merchantId })) ?? [{}]
  const runs = (status ? [status] : callbackStatuses).flatMap((status) =>
    owners.map((owner): Run => ({ equal: { ...owner, status } })),
  )
  const collection = readModels.collection(collections.callbacks)
  const found = await firstOf<CallbackDocument>(collection, newestFirst, runs, { limit: limit + 1, cursor })
  const { items, nextCursor } = pageOf(found, limit, ({ recordedAt: at, position }) => ({ at, position }))
  return { items: items.map(listed), nextCursor }
}

/** Returns whether a callback of the merchant waits for its next attempt after one that failed. @throws ReadModelsUnavailableError */
export async function isAnyRetried(readModels: ReadModels, merchantId: string, now: string): Promise<boolean> {
  // A delayed callback waits for its first attempt.
  const retried = { merchantId, dueAt: { $gt: now }, attempts: { $gt: 0 } }
  return (await readModels.collection(collections.callbacks).findOne(retried)) !== null
}

/** Lists the callbacks of one transfer from the log, newest first. @throws StoreUnavailableError */
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
    .map(({ webhookId: _id, payload, status, nextAttemptAt, ...delivery }) => {
      const { referenceId, status: transferStatus } = payload
      const due = status === 'waiting' && { dueAt: nextAttemptAt }
      return listed({ _id, trackingId, merchantId, referenceId, transferStatus, status, ...delivery, ...due })
    })
  // The callbacks of a transfer are recorded in the order of its events.
  return pageOfAll(items, filter, ({ recordedAt: at, transferRevision: position }) => ({ at, position }))
}

function listed({ _id: webhookId, attempts: failedAttempts, ...callback }: ListedFields) {
  const { trackingId, merchantId, referenceId, transferRevision, transferStatus, status } = callback
  const { recordedAt, lastFailure = null } = callback
  return {
    webhookId,
    trackingId,
    merchantId,
    referenceId,
    transferRevision,
    transferStatus,
    status,
    failedAttempts,
    recordedAt,
    dueAt: callback.dueAt ?? null,
    lastFailure,
  }
}

const parkedPage = 500
/** The limit of callbacks per response, which include those that were parked before the requested time. */
const maxParkedRead = 20_000

interface ParkedQuery {
  readonly merchantId: string
  readonly since: string
  readonly limit: number
}

/**
 * Lists at most `limit` callbacks of a merchant that were parked at or after a time in ISO 8601, and whether there can be more. The order is
 * that of the index: the last recorded ones come first. @throws ReadModelsUnavailableError
 */
export async function listParkedSince({ readModels }: ListSources, { merchantId, since, limit }: ParkedQuery) {
  const collection = readModels.collection(collections.callbacks)
  const run: Run = { equal: { merchantId, status: 'parked' } }
  const callbacks: { trackingId: string; webhookId: string }[] = []
  let after: SortKey | undefined
  for (let read = 0; read < maxParkedRead; read += parkedPage) {
    const next = { limit: parkedPage, cursor: after }
    const page = await firstOf<CallbackDocument>(collection, newestFirst, [run], next)
    for (const { trackingId, _id: webhookId, parkedAt = '' } of page) {
      if (parkedAt < since) continue
      if (callbacks.length === limit) return { callbacks, more: true }
      callbacks.push({ trackingId, webhookId })
    }
    const last = page.at(-1)
    if (!last || page.length < parkedPage) return { callbacks, more: false }
    after = { at: last.recordedAt, position: last.position }
  }
  return { callbacks, more: true }
}
