import type { DomainEvent } from '../event-store/event-codec.js'
import type { Position, RecordedEvent } from '../event-store/event-store.js'
import type { Document, Index, WriteOperation } from '../read-models/read-models.js'

/** A decoded event with its place in its stream and in the log. */
export interface ProjectedEvent {
  readonly id: string
  readonly stream: string
  readonly revision: number
  /** Of the event before it in its stream, what is passed over left out; -1 for the first. */
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
export interface Projection {
  readonly name: string
  /** Raised when the documents change their shape; older ones are then rebuilt at the start. */
  readonly version: number
  readonly streamPrefixes: readonly string[]
  readonly collection: string
  readonly indexes: readonly Index[]
  /** The ids of stored documents that {@link apply} wants to see. */
  needs(batch: readonly ProjectedEvent[]): readonly string[]
  /** `documents`: those of the needed ones that exist. @throws ProjectionError */
  apply(batch: readonly ProjectedEvent[], documents: ReadonlyMap<string, Document>): readonly WriteOperation[]
  /** In place of {@link apply}: the events as they are recorded, those that cannot be read and those passed over among them. */
  applyUnread?(events: readonly RecordedEvent[]): readonly WriteOperation[]
}

/** An event does not fit the documents (one before it is missing, or it is of another kind); it must not be passed over. */
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

/** A document that says by its revision how far it has come. */
export function replaceOlder(document: Document & { readonly revision: number }): WriteOperation {
  const filter = { _id: document._id, revision: { $lt: document.revision } }
  return { replaceOne: { filter, replacement: document, upsert: true } }
}

export function unexpectedEvent(event: never, projected: ProjectedEvent): never {
  throw new ProjectionError(`unexpected event ${(event as DomainEvent).type}`, projected)
}
