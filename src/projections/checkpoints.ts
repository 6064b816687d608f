import type { Clock } from '../commands/handle-command.js'
import {
  type EventStore,
  formatPosition,
  type Position,
  parsePosition,
  type RecordedEvent,
} from '../event-store/event-store.js'
import { type CheckpointDocument, collections } from '../read-models/documents.js'
import type { ReadModels, Update } from '../read-models/read-models.js'
import type { Projection } from './projection.js'

/** Another holder has written since, or is about to: this one must stop. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** The checkpoint of one projection, as the holder of a lease writes it. */
export class Checkpoint {
  #position: Position | undefined
  #builtVersion: number | undefined
  #lastEvent: CheckpointDocument['lastEvent']
  #lastEventAtMs: number | null = null

  constructor(
    private readonly readModels: ReadModels,
    private readonly projection: Projection,
    private readonly leaseToken: number,
    private readonly clock: Clock,
  ) {}

  get position(): Position | undefined {
    return this.#position
  }

  /** Of the code that built the documents; undefined when nothing was built yet. */
  get builtVersion(): number | undefined {
    return this.#builtVersion
  }

  async load(): Promise<void> {
    const stored = await readCheckpoint(this.readModels, this.projection.name)
    // Where nothing was applied nothing is lost by looking at it once more, and the place may be one of another log.
    this.#position = stored?.lastEvent && stored.position !== undefined ? parsePosition(stored.position) : undefined
    this.#builtVersion = stored?.version
    this.#lastEvent = stored?.lastEvent
    this.#lastEventAtMs = stored?.lastEventAtMs ?? null
  }

  /** To be called after the documents up to there were written, never before. @throws LeaseLostError */
  async reached(position: Position, lastEvent: RecordedEvent | undefined): Promise<void> {
    this.#position = position
    this.#builtVersion = this.projection.version
    if (lastEvent) {
      const { stream, revision, recordedAtMs } = lastEvent
      this.#lastEvent = { stream, revision, position: formatPosition(lastEvent.position) }
      this.#lastEventAtMs = recordedAtMs
    }
    await this.#write({ $set: this.#fields(), $unset: { failure: '', ...(!this.#lastEvent && { lastEvent: '' }) } })
  }

  /** Before documents that have come less far take the place of those there are. @throws LeaseLostError */
  async rewind(position: Position): Promise<void> {
    this.#position = position
    await this.#write({ $set: this.#fields() })
  }

  /** The documents were rebuilt from this log, whatever the checkpoint said before. @throws LeaseLostError */
  async rebuilt(position: Position, lastEvent: RecordedEvent | undefined): Promise<void> {
    this.#lastEvent = undefined
    this.#lastEventAtMs = null
    await this.reached(position, lastEvent)
  }

  /** @throws LeaseLostError */
  async fail(
    event: Pick<RecordedEvent, 'stream' | 'revision' | 'position'> | undefined,
    reason: string,
  ): Promise<void> {
    const place = event && { position: formatPosition(event.position), stream: event.stream, revision: event.revision }
    const failure = { ...place, reason, at: this.clock() }
    await this.#write({ $set: { ...this.#fields(), failure } })
  }

  #fields() {
    return {
      version: this.#builtVersion ?? this.projection.version,
      leaseToken: this.leaseToken,
      lastEventAtMs: this.#lastEventAtMs,
      updatedAt: this.clock(),
      ...(this.#position && { position: formatPosition(this.#position) }),
      ...(this.#lastEvent && { lastEvent: this.#lastEvent }),
    }
  }

  async #write(update: Update): Promise<void> {
    const filter = { _id: this.projection.name, leaseToken: { $lte: this.leaseToken } }
    const checkpoints = this.readModels.collection(collections.checkpoints)
    const result = await checkpoints.bulkWrite([{ updateOne: { filter, update, upsert: true } }])
    if (result.matchedCount + result.upsertedCount === 0) throw new LeaseLostError(this.projection.name)
  }
}

export async function readCheckpoint(readModels: ReadModels, name: string): Promise<CheckpointDocument | null> {
  return (await readModels.collection(collections.checkpoints).findOne({ _id: name })) as CheckpointDocument | null
}

/**
 * Whether the documents were built from this log as it is. False: it was put back to an earlier state, or it is another one or a
 * copy in another engine, where the same position means another place; whatever is added to the documents then is wrong.
 * @throws StoreUnavailableError
 */
export async function isOfThisLog(store: EventStore, stored: CheckpointDocument): Promise<boolean> {
  const { lastEvent, lastEventAtMs } = stored
  // No event was applied; or one was, by a version that did not say which.
  if (!lastEvent) return lastEventAtMs === null
  const { stream, revision, position } = lastEvent
  const [found] = await store.readStream(stream, { fromRevision: revision, maxCount: 1 })
  return found !== undefined && found.position.commit === parsePosition(position)?.commit
}
