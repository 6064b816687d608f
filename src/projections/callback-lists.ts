import { type CallbackEvent, evolve, initialState, type Lane } from '../domain/callback.js'
import { streamPrefix } from '../domain/streams.js'
import { type CallbackDocument, collections, indexes } from '../read-models/documents.js'
import { type EventProjection, foldedDocuments, type ProjectedEvent } from './projection.js'

export const callbacksProjection: EventProjection = {
  name: 'callbacks',
  version: 3,
  streamPrefixes: [streamPrefix.callback],
  collection: collections.callbacks,
  indexes: indexes.callbacks,
  ...foldedDocuments<CallbackDocument, 'revision'>({
    progressField: 'revision',
    idsOf: ({ event }) => [(event as CallbackEvent).data.webhookId],
    isFirst: ({ event }) => event.type === 'CallbackRecorded',
    next,
  }),
}

/** The domain's own fold of a lane that contains only this callback. */
function next(before: CallbackDocument | undefined, { event, revision }: ProjectedEvent): CallbackDocument {
  const { data } = event as CallbackEvent
  const { webhookId: _id, merchantId, trackingId, at } = data
  const lane = evolve(before ? laneOf(before) : initialState, event as CallbackEvent)
  const { payload, status, nextAttemptAt, transferRevision, attempts, lastFailure, recordedAt } = lane.deliveries[0]!
  const { status: transferStatus, referenceId } = payload
  return {
    ...{ _id, merchantId, trackingId, transferRevision, transferStatus, referenceId, status, attempts },
    ...(status === 'waiting' && { dueAt: nextAttemptAt }),
    ...(status === 'parked' && { parkedAt: at }),
    lastFailure,
    lastHttpStatus: 'httpStatus' in data ? data.httpStatus : (before?.lastHttpStatus ?? null),
    ...{ recordedAt, updatedAt: at, revision },
  }
}

function laneOf(document: CallbackDocument): Lane {
  const { _id: webhookId, merchantId, trackingId, transferStatus, referenceId, dueAt = '' } = document
  const { transferRevision, status, attempts, recordedAt, lastFailure } = document
  // Not stored, and not changed by later events.
  const rest = {
    message: null,
    amountMinor: 0n,
    transactionAmountMinor: 0n,
    hasAmountMismatch: false,
    receiptUrl: null,
  }
  const known = { webhookId, transferRevision, status, attempts, recordedAt, lastFailure, nextAttemptAt: dueAt }
  const payload = { status: transferStatus, referenceId, ...rest }
  return { merchantId, trackingId, deliveries: [{ ...known, payload, requeues: 0, requeuedAt: null }] }
}
