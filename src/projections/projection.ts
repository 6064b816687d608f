import type { DomainEvent } from '../event-store/event-codec.js'
import type { EventStore, Position, RecordedEvent } from '../event-store/event-store.js'
import type { Clock } from '../kernel/time.js'
import { sortablePosition } from '../read-models/documents.js'
import type { Document, Index, ReadModels, WriteOperation } from '../read-models/read-models.js'

export interface ProjectionDependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly clock: Clock
}

/** A decoded event with its revision and position. */
export interface ProjectedEvent {
  readonly id: string
  readonly stream: string
  readonly revision: number
  /** The revision of the preceding event of its stream that is not skipped; -1 for the first. */
  readonly previous: number
  readonly position: Position
  readonly event: DomainEvent
}

/**
 * Turns events into the documents of one collection. It is pure: it receives the stored documents that it needs.
 *
 * Every document records its last applied event and is always the fold of everything up to that event. Each write replaces the whole
 * document and is guarded to replace an older one only. A repeated event, a different batch boundary, a bulk that a crash cut short, or a
 * holder that lost its lease can therefore repeat an old write, but never undo or double a newer one.
 */
export type Projection = EventProjection | (ProjectionSettings & FromRecordedEvents)
/** A projection that stops at an unreadable event. */
export type EventProjection = ProjectionSettings & FromDecodedEvents

interface ProjectionSettings {
  readonly name: string
  /** Raise it when the shape of the documents changes: the next start then builds them again. */
  readonly version: number
  readonly streamPrefixes: readonly string[]
  readonly collection: string
  readonly indexes: readonly Index[]
  /** For unordered ids of documents that few later events change: a rebuild sorts all documents before it writes them. */
  readonly isSortedBeforeWriting?: true
}

interface FromDecodedEvents {
  /** Returns the ids of the stored documents that {@link apply} needs. */
  needs?(batch: readonly ProjectedEvent[]): readonly string[]
  /** `documents` holds the needed documents that exist. @throws ProjectionError */
  apply(batch: readonly ProjectedEvent[], documents: ReadonlyMap<string, Document>): readonly WriteOperation[]
}

interface FromRecordedEvents {
  /** Receives the recorded events, including unreadable and skipped ones. */
  applyRecorded(events: readonly RecordedEvent[]): readonly WriteOperation[]
}

/** An event does not fit the documents: an earlier one is missing, or it has an unexpected type. It must not be ignored. */
export class ProjectionError extends Error {
  override readonly name = 'ProjectionError'
  /** Without the event's data, because errors are logged. */
  readonly event: Pick<RecordedEvent, 'stream' | 'revision' | 'position'>

  constructor(
    message: string,
    { stream, revision, position }: Pick<RecordedEvent, 'stream' | 'revision' | 'position'>,
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
  /** Returns the ids of the documents that the event changes. */
  idsOf(projected: ProjectedEvent): readonly string[]
  /** Returns whether no document exists before this event. */
  isFirst(projected: ProjectedEvent): boolean
  /** Returns the document after the event. Its errors become a {@link ProjectionError}. */
  next(
    before: Folded | undefined,
    projected: ProjectedEvent,
    id: string,
  ): Folded & { readonly [field in Field]: number }
}): FromDecodedEvents {
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
            throw new ProjectionError(error instanceof Error ? error.message : String(error), projected)
          }
        }
      }
      return [...changed.values()].map((replacement) => {
        const filter = { _id: replacement._id, [progressField]: { $lt: replacement[progressField] as number } }
        // An existing document needs no attempt to insert it first.
        return { replaceOne: { filter, replacement, ...(!documents.has(replacement._id) && { upsert: true }) } }
      })
    },
  }
}
