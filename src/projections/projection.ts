import type { DomainEvent } from '../event-store/event-codec.js'
import type { EventStore, Position, RecordedEvent } from '../event-store/event-store.js'
import type { Clock } from '../kernel/clock.js'
import { sortablePosition } from '../read-models/documents.js'
import type { Document, Index, ReadModels, WriteOperation } from '../read-models/read-models.js'

export interface ProjectionDependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly clock: Clock
}

/** A decoded event with its place in its stream and in the log. */
export interface ProjectedEvent {
  readonly id: string
  readonly stream: string
  readonly revision: number
  /** Of the event before it in its stream, skipped events omitted; -1 for the first. */
  readonly previous: number
  readonly position: Position
  readonly event: DomainEvent
}

/**
 * Turns events into documents of one collection. Pure: what it needs to know of stored documents it asks for.
 *
 * A document says up to which event it has come, and is always the fold of everything up to there. So each write replaces the
 * whole document and is guarded to meet an older one only: an event applied twice, a batch cut elsewhere, half a bulk
 * before a crash or a holder that lost its lease can repeat an old write, but never undo or double a newer one.
 */
export type Projection = EventProjection | (Kept & OfAllEvents)
/** One that stops at an event that cannot be read. */
export type EventProjection = Kept & OfReadableEvents

interface Kept {
  readonly name: string
  /** Raised when the documents change their shape; older ones are then rebuilt at the start. */
  readonly version: number
  readonly streamPrefixes: readonly string[]
  readonly collection: string
  readonly indexes: readonly Index[]
  /** Ids in no order, of documents that hardly any later event needs: a rebuild sorts all of them before it writes them. */
  readonly areSortedFirst?: true
}

interface OfReadableEvents {
  /** The ids of stored documents that {@link apply} wants to see; none when absent. */
  needs?(batch: readonly ProjectedEvent[]): readonly string[]
  /** `documents`: those of the needed ones that exist. @throws ProjectionError */
  apply(batch: readonly ProjectedEvent[], documents: ReadonlyMap<string, Document>): readonly WriteOperation[]
}

interface OfAllEvents {
  /** The events as they are recorded, unreadable and skipped events included. */
  applyUnread(events: readonly RecordedEvent[]): readonly WriteOperation[]
}

/** Where documents are written. */
export interface Target {
  /** Those that there are. */
  byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Document>>
  write(operations: readonly WriteOperation[]): Promise<void>
}

/** An event does not fit the documents (one before it is missing, or it is of another kind); it must not be skipped. */
export class ProjectionError extends Error {
  override readonly name = 'ProjectionError'
  /** Where it is; nothing of its data, as errors are logged. */
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
 * Documents by id, each folded from its events. The document's field `upTo` says which event it has come to: the revision in its
 * stream, or the position in the log when several streams make one document.
 */
export function foldedDocuments<Folded extends Document, UpTo extends 'revision' | 'position'>(fold: {
  readonly upTo: UpTo
  /** The documents that the event changes. */
  idsOf(projected: ProjectedEvent): readonly string[]
  /** There is no document before this event. */
  begins(projected: ProjectedEvent): boolean
  /** What it throws becomes a {@link ProjectionError}. */
  next(before: Folded | undefined, projected: ProjectedEvent, id: string): Folded & { readonly [field in UpTo]: number }
}): OfReadableEvents {
  const { upTo } = fold
  return {
    needs(batch) {
      const ids = new Set<string>()
      const begun = new Set<string>()
      for (const projected of batch) {
        for (const id of fold.idsOf(projected)) {
          if (fold.begins(projected)) begun.add(id)
          else if (!begun.has(id)) ids.add(id)
        }
      }
      return [...ids]
    },

    apply(batch, documents) {
      const changed = new Map<string, Document>()
      for (const projected of batch) {
        const place = upTo === 'revision' ? projected.revision : sortablePosition(projected.position)
        for (const id of fold.idsOf(projected)) {
          const before = (changed.get(id) ?? documents.get(id)) as Folded | undefined
          if (before && place <= (before[upTo] as number)) continue
          try {
            changed.set(id, fold.next(before, projected, id))
          } catch (error) {
            throw new ProjectionError(error instanceof Error ? error.message : String(error), projected)
          }
        }
      }
      return [...changed.values()].map((replacement) => {
        const filter = { _id: replacement._id, [upTo]: { $lt: replacement[upTo] as number } }
        // A document that there is stays: to try to insert it first would be in vain.
        return { replaceOne: { filter, replacement, ...(!documents.has(replacement._id) && { upsert: true }) } }
      })
    },
  }
}
