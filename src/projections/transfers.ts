import { streamPrefix } from '../domain/streams.js'
import { evolve, initialState } from '../domain/transfer/transfer.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { collections, indexes, type TransferDocument } from '../read-models/documents.js'
import { documentOf, transferOf } from '../read-models/transfer-document.js'
import { type EventProjection, foldedDocuments, type ProjectedEvent } from './projection.js'

/** Every transfer as it is now. */
export const transfersProjection: EventProjection = {
  name: 'transfers',
  version: 5,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.transfers,
  indexes: indexes.transfers,
  ...foldedDocuments<TransferDocument, 'revision'>({
    upTo: 'revision',
    idsOf: ({ event }) => [(event as TransferEvent).data.trackingId],
    begins: ({ previous }) => previous < 0,
    next,
  }),
}

/** The domain's own fold: a document never says anything else about a transfer than the log does. */
function next(before: TransferDocument | undefined, projected: ProjectedEvent): TransferDocument {
  const { revision, previous } = projected
  const event = projected.event as TransferEvent
  if ((before?.revision ?? -1) < previous) {
    const found = before ? `at revision ${before.revision}` : 'missing'
    throw new Error(`event ${revision} of transfer ${event.data.trackingId}, whose document is ${found}`)
  }
  const after = evolve(before ? transferOf(before) : initialState, event)
  if (after.kind === 'none') throw new Error('no transfer came of its event')
  const completedAt = event.type === 'TransferCompleted' ? event.data.at : before?.completedAt
  return { ...documentOf(after, revision), ...(completedAt !== undefined && { completedAt }) }
}
