import { streamPrefix } from '../domain/streams.js'
import type { TransferEvent } from '../domain/transfer/events.js'
import { evolve, initialState } from '../domain/transfer/transfer.js'
import { collections, indexes, type TransferDocument } from '../read-models/documents.js'
import { documentOf, transferOf } from '../read-models/transfer-document.js'
import { type ProjectedEvent, type Projection, ProjectionError, replaceOlder } from './projection.js'

/** Every transfer as it is now. */
export const transfersProjection: Projection = {
  name: 'transfers',
  version: 3,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.transfers,
  indexes: indexes.transfers,

  needs(batch) {
    const ids = new Set<string>()
    const created = new Set<string>()
    for (const { event, previous } of batch) {
      const { trackingId } = (event as TransferEvent).data
      if (previous < 0) created.add(trackingId)
      else if (!created.has(trackingId)) ids.add(trackingId)
    }
    return [...ids]
  },

  apply(batch, documents) {
    const changed = new Map<string, TransferDocument>()
    for (const projected of batch) {
      const { trackingId } = (projected.event as TransferEvent).data
      const before = changed.get(trackingId) ?? (documents.get(trackingId) as TransferDocument | undefined)
      if (before && projected.revision <= before.revision) continue
      if ((before?.revision ?? -1) < projected.previous) {
        const found = before ? `at revision ${before.revision}` : 'missing'
        throw new ProjectionError(
          `event ${projected.revision} of transfer ${trackingId}, whose document is ${found}`,
          projected,
        )
      }
      changed.set(trackingId, next(before, projected))
    }
    return [...changed.values()].map(replaceOlder)
  },
}

/** The domain's own fold: a document never says anything else about a transfer than the log does. */
function next(before: TransferDocument | undefined, projected: ProjectedEvent): TransferDocument {
  try {
    const after = evolve(before ? transferOf(before) : initialState, projected.event as TransferEvent)
    if (after.kind === 'none') throw new Error('no transfer came of its event')
    return documentOf(after, projected.revision)
  } catch (error) {
    throw new ProjectionError(error instanceof Error ? error.message : String(error), projected)
  }
}
