import { type EventStore, eventAt, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

const saveEveryMs = 1_000

type CheckpointEvent = Pick<RecordedEvent, 'stream' | 'revision' | 'id'>

interface Stores {
  readonly store: EventStore
  readonly readModels: ReadModels
}

/**
 * The checkpoint of a follower that acts on events. It may be lost with the read models: a follower without one starts at the start of the
 * log, and finds its work done. It names an event, because a position is valid in one engine only, and the event's id, because a restored
 * log can have a different event in that place.
 */
export class Checkpoint {
  #savedAtMs = Number.NEGATIVE_INFINITY
  #event: CheckpointEvent | undefined

  private constructor(
    private readonly readModels: ReadModels,
    private readonly follower: string,
    private saved: CheckpointEvent | undefined,
    /** The position up to which the work is done; `undefined` at the start of the log. */
    public position: Position | undefined,
  ) {}

  /** @throws StoreUnavailableError, ReadModelsUnavailableError */
  static async load({ store, readModels }: Stores, follower: string): Promise<Checkpoint> {
    const document = await readModels.collection(collections.checkpoints).findOne({ _id: follower })
    if (!document) return new Checkpoint(readModels, follower, undefined, undefined)
    const event = await eventAt(store, { stream: String(document.stream), revision: Number(document.revision) })
    const saved = event?.id === document.id ? event : undefined
    return new Checkpoint(readModels, follower, saved, saved?.position)
  }

  /** Sets the position. `event` is the last known event up to there. */
  advance(position: Position, event: CheckpointEvent | undefined): void {
    this.position = position
    this.#event = event ?? this.#event
  }

  /**
   * Saves the checkpoint at most once a second, or immediately if `now` is true. A process that has lost its lease may save it too, because
   * everything before it is done. @throws ReadModelsUnavailableError
   */
  async save(options: { readonly now: boolean }): Promise<void> {
    const event = this.#event
    if (!event || event.id === this.saved?.id) return
    if (!options.now && performance.now() - this.#savedAtMs < saveEveryMs) return
    const { stream, revision, id } = event
    const replacement = { _id: this.follower, stream, revision, id }
    await this.readModels
      .collection(collections.checkpoints)
      .bulkWrite([{ replaceOne: { filter: { _id: this.follower }, replacement, upsert: true } }])
    this.saved = event
    this.#savedAtMs = performance.now()
  }
}
