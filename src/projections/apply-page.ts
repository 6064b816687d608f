import { UnreadableEventError } from '../event-store/event-codec.js'
import type { Page, RecordedEvent } from '../event-store/event-store.js'
import { readEvent } from '../event-store/read-event.js'
import type { Collection, Document } from '../read-models/read-models.js'
import { type ProjectedEvent, type Projection, ProjectionError } from './projection.js'

/**
 * Writes a page's events into the documents of a collection.
 * @throws ProjectionError after everything before the failing event was written
 */
export async function applyPage(projection: Projection, target: Collection, { events }: Page): Promise<void> {
  if ('applyUnread' in projection) {
    const operations = projection.applyUnread(events)
    if (operations.length > 0) await target.bulkWrite(operations)
    return
  }
  const { batch, failure } = decode(events)
  if (batch.length > 0) {
    const ids = projection.needs?.(batch) ?? []
    const found = ids.length === 0 ? [] : await target.find({ _id: { $in: ids } })
    const operations = projection.apply(batch, new Map(found.map((document: Document) => [document._id, document])))
    if (operations.length > 0) await target.bulkWrite(operations)
  }
  if (failure) throw failure
}

/** Stops at the first event that cannot be read; skipping it without a decision would be a silent hole in the documents. */
function decode(events: readonly RecordedEvent[]): { batch: ProjectedEvent[]; failure?: ProjectionError } {
  const batch: ProjectedEvent[] = []
  for (const recorded of events) {
    try {
      const event = readEvent(recorded)
      const { id, stream, revision, position, previousRevision: previous = revision - 1 } = recorded
      if (event) batch.push({ id, stream, revision, previous, position, event })
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error
      return { batch, failure: new ProjectionError(error.message, recorded) }
    }
  }
  return { batch }
}
