import { decodeEvent, EventFormatError } from '../event-store/event-codec.js'
import type { Page, RecordedEvent } from '../event-store/event-store.js'
import type { Collection, Document } from '../read-models/read-models.js'
import { type ProjectedEvent, type Projection, ProjectionError } from './projection.js'

/**
 * Writes a page's events into the documents of a collection.
 * @throws ProjectionError after everything before the failing event was written
 */
export async function applyPage(projection: Projection, target: Collection, { events }: Page): Promise<void> {
  const { batch, failure } = decode(events)
  if (batch.length > 0) {
    const ids = projection.needs(batch)
    const found = ids.length === 0 ? [] : await target.find({ _id: { $in: ids } })
    const operations = projection.apply(batch, new Map(found.map((document: Document) => [document._id, document])))
    if (operations.length > 0) await target.bulkWrite(operations)
  }
  if (failure) throw failure
}

/** Stops at the first event that cannot be read; passing over it would be a silent hole in the documents. */
function decode(events: readonly RecordedEvent[]): { batch: ProjectedEvent[]; failure?: ProjectionError } {
  const batch: ProjectedEvent[] = []
  for (const recorded of events) {
    const { id, revision, position } = recorded
    try {
      batch.push({ id, revision, position, event: decodeEvent(recorded) })
    } catch (error) {
      if (!(error instanceof EventFormatError)) throw error
      return { batch, failure: new ProjectionError(error.message, position) }
    }
  }
  return { batch }
}
