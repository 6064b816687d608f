import { type DomainEvent, UnreadableEventError } from '../event-store/event-codec.js'
import type { EventStore, RecordedEvent } from '../event-store/event-store.js'
import { readEvent } from '../event-store/read-event.js'
import type { Clock } from '../kernel/time.js'
import { sortablePosition } from '../read-models/documents.js'
import type { Document, Index, ReadModels, WriteOperation } from '../read-models/read-models.js'

export interface ProjectionDependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly clock: Clock
}

type EventPlace = Pick<RecordedEvent, 'stream' | 'revision' | 'position'>

export interface ProjectedEvent extends EventPlace {
  /** The revision of the preceding event of its stream that is not skipped; -1 for the first. */
  readonly previous: number
  readonly event: DomainEvent
}

interface ProjectionSettings {
  readonly name: string
  /** Raise it when the shape of the documents changes: the next start then builds them again. */
  readonly version: number
  readonly streamPrefixes: readonly string[]
  readonly collection: string
  readonly indexes: readonly Index[]
}

/** A projection that stops at an unreadable event. */
export interface EventProjection extends ProjectionSettings {
  needs?(batch: readonly ProjectedEvent[]): readonly string[]
  /** `documents` holds the needed documents that exist. @throws ProjectionError */
  apply(batch: readonly ProjectedEvent[], documents: ReadonlyMap<string, Document>): readonly WriteOperation[]
}

/** A projection that stops at no event. The list of unreadable events is the only one, and needs their records. */
interface RecordedProjection extends ProjectionSettings {
  /** Receives the recorded events, including unreadable and skipped ones. */
  applyRecorded(events: readonly RecordedEvent[]): readonly WriteOperation[]
}

/**
 * Turns events into the documents of one collection. It is pure: it receives the stored documents that it needs.
 *
 * Every document records its last applied event and is always the fold of everything up to that event. Each write replaces the whole
 * document and is guarded to replace an older one only. A repeated event, a different batch boundary, a bulk that a crash cut short, or a
 * holder that lost its lease can therefore repeat an old write, but never undo or double a newer one.
 */
export type Projection = EventProjection | RecordedProjection

/** The document is damaged, not the event. {@link foldedDocuments} adds the event. */
export class DamagedDocumentError extends Error {
  override readonly name = 'DamagedDocumentError'
}

/** An event does not fit the documents: an earlier one is missing, or it has an unexpected type. It must not be ignored. */
export class ProjectionError extends Error {
  override readonly name = 'ProjectionError'
  /** Without the event's data, because errors are logged. */
  readonly event: EventPlace

  constructor(
    message: string,
    { stream, revision, position }: EventPlace,
    readonly remedy: 'skip' | 'rebuild' = 'skip',
  ) {
    super(message)
    this.event = { stream, revision, position }
  }
}

/**
 * Projects documents by id, each folded from its events. The document's `progressField` records the last applied event: its revision in its
 * stream or, when events of several streams change the same document, its position in the log.
 */
export function foldedDocuments<Folded extends Document, Field extends 'revision' | 'position'>(fold: {
  readonly progressField: Field
  idsOf(projected: ProjectedEvent): readonly string[]
  /** Returns whether no document exists before this event. */
  isFirst(projected: ProjectedEvent): boolean
  /** Returns the document after the event. Its errors become a {@link ProjectionError}. */
  next(
    before: Folded | undefined,
    projected: ProjectedEvent,
    id: string,
  ): Folded & { readonly [field in Field]: number }
}): Pick<EventProjection, 'needs' | 'apply'> {
  const { progressField } = fold
  return {
    needs(batch) {
      const ids = new Set<string>()
      const created = new Set<string>()
      for (const projected of batch) {
        for (const id of fold.idsOf(projected)) {
          if (fold.isFirst(projected)) created.add(id)
          else if (!created.has(id)) ids.add(id)
        }
      }
      return [...ids]
    },

    apply(batch, documents) {
      const changed = new Map<string, Document>()
      for (const projected of batch) {
        const progress = progressField === 'revision' ? projected.revision : sortablePosition(projected.position)
        for (const id of fold.idsOf(projected)) {
          const before = (changed.get(id) ?? documents.get(id)) as Folded | undefined
          if (before && progress <= (before[progressField] as number)) continue
          try {
            changed.set(id, fold.next(before, projected, id))
          } catch (error) {
            const remedy = error instanceof DamagedDocumentError ? 'rebuild' : 'skip'
            throw new ProjectionError(reasonOf(error), projected, remedy)
          }
        }
      }
      return [...changed.values()].map((replacement) => {
        const filter = { _id: replacement._id, [progressField]: { $lt: replacement[progressField] as number } }
        const previous = documents.get(replacement._id)
        // An existing document needs no attempt to insert it first.
        return { replaceOne: { filter, replacement, ...(previous ? { previous } : { upsert: true }) } }
      })
    },
  }
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export interface ProjectionTarget {
  byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Document>>
  write(operations: readonly WriteOperation[]): Promise<void>
}

/** @throws ProjectionError after everything before the failing event is written */
export async function applyEvents(projection: Projection, target: ProjectionTarget, events: readonly RecordedEvent[]) {
  let operations: readonly WriteOperation[]
  try {
    operations = await operationsOf(projection, target, events)
  } catch (error) {
    if (!(error instanceof ProjectionError)) throw error
    const { commit } = error.event.position
    const failing = events.findIndex(({ position }) => position.commit === commit)
    await applyEvents(projection, target, events.slice(0, failing))
    throw error
  }
  if (operations.length > 0) await target.write(operations)
}

async function operationsOf(projection: Projection, target: ProjectionTarget, events: readonly RecordedEvent[]) {
  if ('applyRecorded' in projection) return projection.applyRecorded(events)
  const batch: ProjectedEvent[] = []
  for (const recorded of events) {
    const projected = decoded(recorded)
    if (projected) batch.push(projected)
  }
  const ids = projection.needs?.(batch) ?? []
  return projection.apply(batch, ids.length === 0 ? new Map() : await target.byIds(ids))
}

/** Returns `undefined` if the event is skipped. @throws ProjectionError, because ignoring an unreadable event would leave a silent hole */
function decoded(recorded: RecordedEvent): ProjectedEvent | undefined {
  try {
    const event = readEvent(recorded)
    const { stream, revision, position, previousRevision: previous = revision - 1 } = recorded
    return event && { stream, revision, previous, position, event }
  } catch (error) {
    throw error instanceof UnreadableEventError ? new ProjectionError(error.message, recorded) : error
  }
}
