import { streamPrefix } from '../domain/streams.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { formatPosition } from '../event-store/event-store.js'
import { collections, feedId, indexes, type TransferEventDocument } from '../read-models/documents.js'
import type { EventProjection, ProjectedEvent } from './projection.js'

/** The merchants' feeds: the place of every event of every transfer, in the order of the log. */
export const transferEventsProjection: EventProjection = {
  name: 'transfer-events',
  version: 3,
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
  return { _id: feedId(merchantId, position), trackingId, revision, position: formatPosition(position) }
}
