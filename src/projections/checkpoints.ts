import type { Clock } from '../commands/handle-command.js'
import { formatPosition, type Position, parsePosition } from '../event-store/event-store.js'
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
    this.#position = stored?.position === undefined ? undefined : parsePosition(stored.position)
    this.#builtVersion = stored?.version
    this.#lastEventAtMs = stored?.lastEventAtMs ?? null
  }

  /** To be called after the documents up to there were written, never before. @throws LeaseLostError */
  async reached(position: Position, lastEventAtMs: number | undefined): Promise<void> {
    this.#position = position
    this.#builtVersion = this.projection.version
    this.#lastEventAtMs = lastEventAtMs ?? this.#lastEventAtMs
    await this.#write({ $set: this.#fields(), $unset: { failure: '' } })
  }

  /** Before documents that have come less far take the place of those there are. @throws LeaseLostError */
  async rewind(position: Position): Promise<void> {
    this.#position = position
    await this.#write({ $set: this.#fields() })
  }

  /** @throws LeaseLostError */
  async fail(position: Position | undefined, reason: string): Promise<void> {
    const failure = { ...(position && { position: formatPosition(position) }), reason, at: this.clock() }
    await this.#write({ $set: { ...this.#fields(), failure } })
  }

  #fields() {
    return {
      version: this.#builtVersion ?? this.projection.version,
      leaseToken: this.leaseToken,
      lastEventAtMs: this.#lastEventAtMs,
      updatedAt: this.clock(),
      ...(this.#position && { position: formatPosition(this.#position) }),
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
