import type { Clock } from '../../commands/handle-command.js'
import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import type { Lease } from '../../read-models/leases.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { applyPage } from '../apply-page.js'
import { type Checkpoint, LeaseLostError } from '../checkpoints.js'
import type { Projection } from '../projection.js'

/** How often progress is told, at most. */
const progressEveryMs = 200
const pageSize = 500

export interface RebuildDependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly clock: Clock
}

/**
 * Rebuilds the documents of a projection in a collection beside the serving one, which stays as it is until
 * {@link switchOver}. The collection's name is this lease's own: a holder that lost its lease without noticing must neither
 * write into its successor's nor switch to what is half deleted.
 */
export class Rebuild {
  readonly #beside: string
  #position: Position | undefined
  #lastEvent: RecordedEvent | undefined

  constructor(
    private readonly deps: RebuildDependencies,
    private readonly projection: Projection,
    private readonly lease: Lease,
  ) {
    this.#beside = `${besidePrefix(projection)}${lease.token}`
  }

  get position(): Position | undefined {
    return this.#position
  }

  /** Up to the end of the log. @throws LeaseLostError, ProjectionError */
  async build(onProgress: (position: Position | undefined) => Promise<void>): Promise<void> {
    const { readModels } = this.deps
    await readModels.drop(this.#beside)
    await readModels.createIndexes(this.#beside, this.projection.indexes)
    let toldAtMs = performance.now()
    while (!(await this.#step())) {
      if (performance.now() - toldAtMs < progressEveryMs) continue
      await onProgress(this.#position)
      toldAtMs = performance.now()
    }
  }

  /**
   * Takes in what happened since and puts the new documents in the place of the old, in one step. Nothing may write the
   * serving collection meanwhile: it would be lost. @throws LeaseLostError, ProjectionError
   */
  async switchOver(checkpoint: Checkpoint): Promise<void> {
    while (!(await this.#step()));
    const position = this.#position
    const served = checkpoint.position
    // Only when the log itself was put back to an earlier state.
    if (position && served && comparePositions(position, served) < 0) await checkpoint.rewind(position)
    this.#checkHeld()
    await this.deps.readModels.rename(this.#beside, this.projection.collection)
    if (position) await checkpoint.rebuilt(position, this.#lastEvent)
  }

  async abandon(): Promise<void> {
    await this.deps.readModels.drop(this.#beside)
  }

  /** One page; true at the end of the log. */
  async #step(): Promise<boolean> {
    this.#checkHeld()
    const { streamPrefixes } = this.projection
    const after = this.#position
    const page = await this.deps.store.readAll({ streamPrefixes, maxCount: pageSize, ...(after && { after }) })
    await applyPage(this.projection, this.deps.readModels.collection(this.#beside), page)
    this.#position = page.checkpoint ?? after
    this.#lastEvent = page.events.at(-1) ?? this.#lastEvent
    return page.atEnd
  }

  #checkHeld(): void {
    if (this.lease.signal.aborted) throw new LeaseLostError(this.projection.name)
  }
}

function besidePrefix(projection: Projection): string {
  return `${projection.collection}__rebuild_`
}

/** What a rebuild that was cut short left behind. */
export async function dropLeftovers(readModels: ReadModels, projection: Projection): Promise<void> {
  for (const name of await readModels.listCollections()) {
    if (name.startsWith(besidePrefix(projection))) await readModels.drop(name)
  }
}
