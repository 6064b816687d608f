import { UnreadableEventError } from '../event-store/event-codec.js'
import type { RecordedEvent } from '../event-store/event-store.js'
import { readEvent } from '../event-store/read-event.js'
import type { Collection, Document, WriteOperation } from '../read-models/read-models.js'
import { type ProjectedEvent, type Projection, ProjectionError } from './projection.js'

/** The documents that a projection writes. */
export interface ProjectionTarget {
  /** Returns the existing documents with these ids. */
  byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Document>>
  write(operations: readonly WriteOperation[]): Promise<void>
}

/** @throws ProjectionError after everything before the failing event is written */
export async function applyEvents(
  projection: Projection,
  target: ProjectionTarget,
  events: readonly RecordedEvent[],
): Promise<void> {
  if ('applyRecorded' in projection) {
    const operations = projection.applyRecorded(events)
    if (operations.length > 0) await target.write(operations)
    return
  }
  const { batch, failure } = decode(events)
  if (batch.length > 0) {
    const ids = projection.needs?.(batch) ?? []
    const found = ids.length === 0 ? new Map() : await target.byIds(ids)
    let operations: readonly WriteOperation[]
    try {
      operations = projection.apply(batch, found)
    } catch (error) {
      if (!(error instanceof ProjectionError)) throw error
      const { commit } = error.event.position
      const failing = events.findIndex(({ position }) => position.commit === commit)
      await applyEvents(projection, target, events.slice(0, failing))
      throw error
    }
    if (operations.length > 0) await target.write(operations)
  }
  if (failure) throw failure
}

/** Stops at the first unreadable event, because ignoring it would leave a silent hole in the documents. */
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

const findSize = 500

/** Returns the documents with these ids, read from the collection unless `known` has them. */
export async function findByIds(
  collection: Collection,
  ids: readonly string[],
  known: (id: string) => Document | undefined,
): Promise<Map<string, Document>> {
  const found = new Map<string, Document>()
  const missing: string[] = []
  for (const id of ids) {
    const document = known(id)
    if (document) found.set(id, document)
    else missing.push(id)
  }
  for (let n = 0; n < missing.length; n += findSize) {
    const stored = await collection.find({ _id: { $in: missing.slice(n, n + findSize) } })
    for (const document of stored) found.set(document._id, document)
  }
  return found
}
