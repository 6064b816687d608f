import { UnreadableEventError } from '../event-store/event-codec.js'
import type { Page, RecordedEvent } from '../event-store/event-store.js'
import { readEvent } from '../event-store/read-event.js'
import type { Collection, WriteOperation } from '../read-models/read-models.js'
import { type ProjectedEvent, type Projection, ProjectionError, type Target } from './projection.js'
import { ServedDocuments } from './served-documents.js'

/**
 * Writes a page's events into the documents of a collection.
 * @throws ProjectionError after everything before the failing event was written
 */
export function applyPage(projection: Projection, collection: Collection, { events }: Page): Promise<void> {
  return applyEvents(projection, new ServedDocuments(collection), events)
}

/** @throws ProjectionError after everything before the failing event was written */
export async function applyEvents(
  projection: Projection,
  target: Target,
  events: readonly RecordedEvent[],
): Promise<void> {
  if ('applyUnread' in projection) {
    const operations = projection.applyUnread(events)
    if (operations.length > 0) await target.write(operations)
    return
  }
  const { batch, failure } = decode(events)
  const operations = batch.length === 0 ? [] : await operationsOf(projection, target, batch)
  if (operations instanceof ProjectionError) {
    const { position } = operations.event
    await applyEvents(projection, target, events.slice(0, indexOf(events, position.commit)))
    throw operations
  }
  if (operations.length > 0) await target.write(operations)
  if (failure) throw failure
}

/** What is to be written, or the event that does not fit. */
async function operationsOf(
  projection: Exclude<Projection, { applyUnread: unknown }>,
  target: Target,
  batch: readonly ProjectedEvent[],
): Promise<readonly WriteOperation[] | ProjectionError> {
  const ids = projection.needs?.(batch) ?? []
  const found = ids.length === 0 ? new Map() : await target.byIds(ids)
  try {
    return projection.apply(batch, found)
  } catch (error) {
    if (error instanceof ProjectionError) return error
    throw error
  }
}

function indexOf(events: readonly RecordedEvent[], commit: bigint): number {
  return events.findIndex(({ position }) => position.commit === commit)
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
