import {
  type EventStore,
  formatPosition,
  type Position,
  parsePosition,
  type RecordedEvent,
} from '../event-store/event-store.js'
import type { Clock } from '../kernel/clock.js'
import { type CheckpointDocument, collections, type Place, type StandbyDocuments } from '../read-models/documents.js'
import type { ReadModels, Update } from '../read-models/read-models.js'
import type { Projection } from './projection.js'

/** Another holder has written since, or is about to: this one must stop. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** Documents beside those in use: `built` wait for a switch, `previous` were in use before it. */
export type Standby = 'built' | 'previous'

/** The place behind an event, or behind a page without one of this projection's. */
export function placeAfter(position: Position, lastEvent: RecordedEvent | undefined, before: Place): Place {
  const { lastEvent: earlier, lastEventAtMs } = before
  if (!lastEvent) return { position: formatPosition(position), ...(earlier && { lastEvent: earlier }), lastEventAtMs }
  const { stream, revision, recordedAtMs } = lastEvent
  return {
    position: formatPosition(position),
    lastEvent: { stream, revision, position: formatPosition(lastEvent.position) },
    lastEventAtMs: recordedAtMs,
  }
}

export const nowhere: Place = { lastEventAtMs: null }

/** For figures only: how far along the log a stored position is. */
export function commitOf(position: string | undefined): number {
  return position === undefined ? 0 : Number(parsePosition(position)?.commit ?? 0)
}

/** Undefined where no event was applied: nothing is lost by looking once more, and the place may be one of another log. */
export function positionOf({ position, lastEvent }: Place): Position | undefined {
  return lastEvent && position !== undefined ? parsePosition(position) : undefined
}

/** The checkpoint of one projection, as the holder of a lease writes it. */
export class Checkpoint {
  #place: Place = nowhere
  #builtVersion: number | undefined
  #standby: { readonly [name in Standby]?: StandbyDocuments | undefined } = {}

  constructor(
    private readonly readModels: ReadModels,
    private readonly projection: Projection,
    private readonly leaseToken: number,
    private readonly clock: Clock,
  ) {}

  get place(): Place {
    return this.#place
  }

  get position(): Position | undefined {
    return positionOf(this.#place)
  }

  async load(): Promise<void> {
    const stored = await readCheckpoint(this.readModels, this.projection.name)
    this.#place = stored ? placeOf(stored) : nowhere
    this.#builtVersion = stored?.version
    this.#standby = { built: stored?.built, previous: stored?.previous }
  }

  standby(name: Standby): StandbyDocuments | undefined {
    return this.#standby[name]
  }

  /** To be called before there are documents that need it, and after they are gone. @throws LeaseLostError */
  async setStandby(name: Standby, documents: StandbyDocuments | undefined): Promise<void> {
    this.#standby = { ...this.#standby, [name]: documents }
    if (documents) await this.#write({ $set: { ...this.#fields(), [name]: documents } })
    else await this.#write({ $set: this.#fields(), $unset: { [name]: '' } })
  }

  /** To be called after the documents up to there were written, never before. @throws LeaseLostError */
  async reached(position: Position, lastEvent: RecordedEvent | undefined): Promise<void> {
    await this.moveTo(placeAfter(position, lastEvent, this.#place))
  }

  /** Back as well, before documents that have come less far take the place of those there are. @throws LeaseLostError */
  async moveTo(place: Place): Promise<void> {
    this.#place = place
    this.#builtVersion = this.projection.version
    const { position, lastEvent } = place
    const gone = {
      ...(!lastEvent && { lastEvent: '' as const }),
      ...(position === undefined && { position: '' as const }),
    }
    await this.#write({ $set: this.#fields(), $unset: { failure: '', ...gone } })
  }

  /** As {@link moveTo}, while the documents are still those that another version or log made. @throws LeaseLostError */
  async rewind(place: Place): Promise<void> {
    const { position } = place
    if (position === undefined) return
    this.#place = { ...this.#place, position }
    await this.#write({ $set: this.#fields() })
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
      ...this.#place,
      version: this.#builtVersion ?? this.projection.version,
      leaseToken: this.leaseToken,
      updatedAt: this.clock(),
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

function placeOf({ position, lastEvent, lastEventAtMs }: Place): Place {
  return { ...(position !== undefined && { position }), ...(lastEvent && { lastEvent }), lastEventAtMs }
}

/**
 * Whether the documents were built from this log as it is. False: it was put back to an earlier state, or it is another one or a
 * copy in another engine, where the same position means another place; whatever is added to the documents then is wrong.
 * @throws StoreUnavailableError
 */
export async function isOfThisLog(
  store: Pick<EventStore, 'readStream'>,
  { lastEvent, lastEventAtMs }: Place,
): Promise<boolean> {
  // No event was applied; or one was, by a version that did not say which.
  if (!lastEvent) return lastEventAtMs === null
  const { stream, revision, position } = lastEvent
  const [found] = await store.readStream(stream, { fromRevision: revision, maxCount: 1 })
  return found !== undefined && found.position.commit === parsePosition(position)?.commit
}
