import type { CallbackEvent } from '../domain/callback/events.js'
import { streamPrefix } from '../domain/streams.js'
import { type CallbackDocument, collections, indexes } from '../read-models/documents.js'
import { type ProjectedEvent, type Projection, ProjectionError, replaceOlder, unexpectedEvent } from './projection.js'

/** Every callback, and when it is due: what the delivery worker and lists of parked callbacks look through. */
export const callbacksProjection: Projection = {
  name: 'callbacks',
  version: 2,
  streamPrefixes: [streamPrefix.callback],
  collection: collections.callbacks,
  indexes: indexes.callbacks,

  needs(batch) {
    const ids = new Set<string>()
    const recorded = new Set<string>()
    for (const { event } of batch) {
      const { webhookId } = (event as CallbackEvent).data
      if (event.type === 'CallbackRecorded') recorded.add(webhookId)
      else if (!recorded.has(webhookId)) ids.add(webhookId)
    }
    return [...ids]
  },

  apply(batch, documents) {
    const changed = new Map<string, CallbackDocument>()
    for (const projected of batch) {
      const { webhookId } = (projected.event as CallbackEvent).data
      const before = changed.get(webhookId) ?? (documents.get(webhookId) as CallbackDocument | undefined)
      if (before && projected.revision <= before.revision) continue
      changed.set(webhookId, next(before, projected))
    }
    return [...changed.values()].map(replaceOlder)
  },
}

function next(before: CallbackDocument | undefined, projected: ProjectedEvent): CallbackDocument {
  const event = projected.event as CallbackEvent
  switch (event.type) {
    case 'CallbackRecorded': {
      const { webhookId, merchantId, trackingId, transferRevision, payload, at } = event.data
      return {
        _id: webhookId,
        merchantId,
        trackingId,
        transferRevision,
        transferStatus: payload.status,
        referenceId: payload.referenceId,
        status: 'waiting',
        attempts: 0,
        dueAt: at,
        lastFailure: null,
        lastHttpStatus: null,
        recordedAt: at,
        updatedAt: at,
        revision: projected.revision,
      }
    }
    case 'CallbackDelivered':
      return change(before, projected, {
        status: 'delivered',
        lastFailure: null,
        lastHttpStatus: event.data.httpStatus,
        updatedAt: event.data.at,
      })
    case 'CallbackAttemptFailed': {
      const { attempt, reason, httpStatus, nextAttemptAt, at } = event.data
      return change(before, projected, {
        status: 'waiting',
        attempts: attempt,
        dueAt: nextAttemptAt,
        lastFailure: reason,
        lastHttpStatus: httpStatus,
        updatedAt: at,
      })
    }
    case 'CallbackParked': {
      const { attempt, reason, httpStatus, at } = event.data
      return change(before, projected, {
        status: 'parked',
        attempts: attempt,
        parkedAt: at,
        lastFailure: reason,
        lastHttpStatus: httpStatus,
        updatedAt: at,
      })
    }
    case 'CallbackRequeued': {
      const { at } = event.data
      return change(before, projected, { status: 'waiting', attempts: 0, dueAt: at, updatedAt: at })
    }
    default:
      return unexpectedEvent(event, projected)
  }
}

function change(
  before: CallbackDocument | undefined,
  projected: ProjectedEvent,
  changes: Partial<CallbackDocument>,
): CallbackDocument {
  if (!before) throw new ProjectionError('an attempt of a callback that was never recorded', projected)
  const { dueAt: _due, parkedAt: _parked, ...rest } = before
  return { ...rest, ...changes, revision: projected.revision } as CallbackDocument
}
