import { type CallbackEvent, evolve, initialState, type Lane } from '../domain/callback.js'
import { streamPrefix } from '../domain/streams.js'
import { type CallbackDocument, collections, indexes, sortablePosition } from '../read-models/documents.js'
import { type EventProjection, foldedDocuments, type ProjectedEvent } from './projection.js'

export const callbacksProjection: EventProjection = {
  name: 'callbacks',
  version: 6,
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
function next(before: CallbackDocument | undefined, { event, position, revision }: ProjectedEvent): CallbackDocument {
  const { data } = event as CallbackEvent
  const lane = evolve(before ? laneOf(before) : initialState, event as CallbackEvent)
  const { payload, status, waitingSince, nextAttemptAt, ...delivery } = lane.deliveries[0]!
  return {
    _id: data.webhookId,
    position: before?.position ?? sortablePosition(position),
    merchantId: data.merchantId,
    trackingId: data.trackingId,
    transferRevision: delivery.transferRevision,
    transferStatus: payload.status,
    referenceId: payload.referenceId,
    status,
    attempts: delivery.attempts,
    ...(status === 'waiting' && { dueAt: nextAttemptAt, dueSince: waitingSince }),
    ...(status === 'parked' && { parkedAt: data.at }),
    ...(delivery.lastFailure !== null && { lastFailure: delivery.lastFailure }),
    recordedAt: delivery.recordedAt,
    revision,
  }
}

function laneOf(document: CallbackDocument): Lane {
  const { _id: webhookId, merchantId, trackingId, transferStatus, referenceId, dueAt = '', dueSince = '' } = document
  const { transferRevision, status, attempts, recordedAt, lastFailure = null } = document
  // Not stored, and not changed by later events.
  const rest = {
    message: null,
    amountMinor: 0n,
    transactionAmountMinor: 0n,
    hasAmountMismatch: false,
    receiptUrl: null,
  }
  const known = { webhookId, transferRevision, status, attempts, recordedAt, lastFailure }
  const wait = { waitingSince: dueSince, nextAttemptAt: dueAt }
  const payload = { status: transferStatus, referenceId, ...rest }
  return { merchantId, trackingId, deliveries: [{ ...known, ...wait, payload, requeues: 0, requeuedAt: null }] }
}
