import { type EventStore, eventAt, type Place, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

type CheckpointEvent = Pick<RecordedEvent, 'stream' | 'revision' | 'id'>

/** The storage of a checkpoint, in the log or in the read models. */
export interface CheckpointStorage {
  /** A checkpoint is saved at most once in this time. */
  readonly saveEveryMs: number
  /** Without an id if the event can only be of this log. @throws StoreUnavailableError, ReadModelsUnavailableError */
  find(): Promise<(Place & { readonly id?: string }) | undefined>
  /** @throws StoreUnavailableError, TooMuchContentionError, ReadModelsUnavailableError */
  save(event: CheckpointEvent): Promise<void>
}

/**
 * Stores a checkpoint in the read models, with which it can be lost: the follower must find its work done when it starts again from the
 * start of the log. The id distinguishes the event from one that a restored log has in its place.
 */
export function inReadModels(readModels: ReadModels, follower: string): CheckpointStorage {
  const checkpoints = () => readModels.collection(collections.checkpoints)
  return {
    saveEveryMs: 1_000,
    async find() {
      const found = await checkpoints().findOne({ _id: follower })
      return found
        ? { stream: String(found.stream), revision: Number(found.revision), id: String(found.id) }
        : undefined
    },
    async save({ stream, revision, id }) {
      const replacement = { _id: follower, stream, revision, id }
      await checkpoints().bulkWrite([{ replaceOne: { filter: { _id: follower }, replacement, upsert: true } }])
    },
  }
}

/**
 * The checkpoint of a follower that acts on events. It names an event, because a position is valid in one engine only: after a move, it
 * could be after the end of the log.
 */
export class Checkpoint {
  #savedAtMs = Number.NEGATIVE_INFINITY
  #event: CheckpointEvent | undefined

  private constructor(
    private readonly storage: CheckpointStorage,
    private saved: Place | undefined,
    /** The position up to which the work is done; `undefined` at the start of the log. */
    public position: Position | undefined,
  ) {}

  /** @throws StoreUnavailableError, ReadModelsUnavailableError */
  static async load(store: EventStore, storage: CheckpointStorage): Promise<Checkpoint> {
    const found = await storage.find()
    const event = found && (await eventAt(store, found))
    const saved = event && (found.id ?? event.id) === event.id ? event : undefined
    return new Checkpoint(storage, saved, saved?.position)
  }

  /** Sets the position. `event` is the last known event up to there. */
  advance(position: Position, event: CheckpointEvent | undefined): void {
    this.position = position
    this.#event = event ?? this.#event
  }

  /**
   * Saves the checkpoint unless it was just saved, or immediately if `now` is true. A process that has lost its lease may save it too, because
   * everything before it is done. @throws the errors of the storage
   */
  async save(options: { readonly now: boolean }): Promise<void> {
    const event = this.#event
    if (!event || (event.stream === this.saved?.stream && event.revision === this.saved.revision)) return
    if (!options.now && performance.now() - this.#savedAtMs < this.storage.saveEveryMs) return
    await this.storage.save(event)
    this.saved = event
    this.#savedAtMs = performance.now()
  }
}
