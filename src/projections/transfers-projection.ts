import { streamPrefix } from '../domain/streams.js'
import { isTerminal } from '../domain/transfer/status.js'
import { evolve, initialState } from '../domain/transfer/transfer.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import {
  collections,
  feedId,
  indexes,
  sortablePosition,
  type TransferDocument,
  type TransferEventDocument,
} from '../read-models/documents.js'
import { documentOf, transferOf } from '../read-models/transfer-document.js'
import { DamagedDocumentError, type EventProjection, foldedDocuments, type ProjectedEvent } from './projection.js'

/** The current state of every transfer. */
export const transfersProjection: EventProjection = {
  name: 'transfers',
  version: 13,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.transfers,
  indexes: indexes.transfers,
  ...foldedDocuments<TransferDocument, 'revision'>({
    progressField: 'revision',
    idsOf: ({ event }) => [(event as TransferEvent).data.trackingId],
    isFirst: ({ previous }) => previous < 0,
    next,
  }),
}

/** The domain's own fold, so that a document never contradicts the log. */
function next(before: TransferDocument | undefined, projected: ProjectedEvent): TransferDocument {
  const { revision, previous } = projected
  const event = projected.event as TransferEvent
  if ((before?.revision ?? -1) < previous) {
    const found = before ? `at revision ${before.revision}` : 'missing'
    throw new DamagedDocumentError(`event ${revision} of transfer ${event.data.trackingId}, whose document is ${found}`)
  }
  const after = evolve(before ? transferOf(before) : initialState, event)
  if (after.kind === 'none') throw new Error('its event created no transfer')
  const lateMinor = (before?.lateMinor ?? 0) + lateAmountMinor(before, event)
  const position = before?.position ?? sortablePosition(projected.position)
  return {
    ...documentOf(after, position, revision),
    ...(lateMinor > 0 && { lateMinor }),
  }
}

function lateAmountMinor(before: TransferDocument | undefined, event: TransferEvent): number {
  const isLate = event.type === 'LateFundsReceived' && before !== undefined && isTerminal(before.status)
  return isLate ? Number(event.data.receivedAmountMinor) : 0
}

/** The merchants' feeds: the place of every event of every transfer, in the order of the log. */
export const transferEventsProjection: EventProjection = {
  name: 'transfer-events',
  version: 4,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.transferEvents,
  indexes: indexes.transferEvents,

  // An entry never changes, so a repeated event must not change it either.
  apply(batch) {
    return batch.map((projected) => {
      const entry = entryOf(projected)
      const filter = { _id: entry._id, trackingId: { $exists: false } }
      return { replaceOne: { filter, replacement: entry, upsert: true } }
    })
  },
}

function entryOf({ revision, position, event }: ProjectedEvent): TransferEventDocument {
  const { merchantId, trackingId } = (event as TransferEvent).data
  const prepare = position.prepare === position.commit ? {} : { prepare: String(position.prepare) }
  return { _id: feedId(position), merchantId, trackingId, revision, ...prepare }
}
