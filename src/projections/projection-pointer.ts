import {
  type EventStore,
  formatPosition,
  type Position,
  parsePosition,
  type RecordedEvent,
} from '../event-store/event-store.js'
import type { Clock } from '../kernel/time.js'
import { collections, type PointerDocument, type Progress, type ProjectionBuild } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import type { ProjectionDependencies } from './projection.js'

/** Another process holds the lease: this one must stop. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

type Field = 'served' | 'built' | 'previous' | 'failure' | 'task'
export type PointerChanges = { readonly [field in Field]?: PointerDocument[field] | undefined }

export class ProjectionPointer {
  #document: PointerDocument | undefined
  #saved: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly readModels: ReadModels,
    private readonly projection: string,
    private readonly leaseToken: number,
    private readonly clock: Clock,
  ) {}

  /** Returns `undefined` if nothing is built yet. @throws LeaseLostError */
  async load(): Promise<PointerDocument | undefined> {
    this.#document = (await readPointer(this.readModels, this.projection)) ?? undefined
    if (this.#document && this.#document.leaseToken > this.leaseToken) throw new LeaseLostError(this.projection)
    return this.#document
  }

  get document(): PointerDocument {
    if (!this.#document) throw new Error(`no build of ${this.projection} exists`)
    return this.#document
  }

  /**
   * Writes all changes in one step. To be called after the documents up to the new progress are written, never before.
   * @throws LeaseLostError
   */
  save(changes: PointerChanges): Promise<void> {
    const saved = this.#saved.then(() => this.#save(changes))
    this.#saved = saved.catch(() => undefined)
    return saved
  }

  /** Records the progress of a build, unless another one is served by now. @throws LeaseLostError */
  async advance(collection: string, position: Position, lastEvent: RecordedEvent | undefined): Promise<void> {
    const { served } = this.document
    if (served.collection !== collection) return
    const progress = progressAfter(position, lastEvent, served.progress)
    await this.save({ served: { ...served, progress }, failure: undefined })
  }

  async #save(changes: PointerChanges): Promise<void> {
    const { projection: _id, leaseToken } = this
    const fields = Object.entries({ ...this.#document, ...changes, _id, leaseToken, updatedAt: this.clock() })
    const replacement = Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as PointerDocument
    const filter = { _id, leaseToken: { $lte: leaseToken } }
    const pointers = this.readModels.collection(collections.pointers)
    const result = await pointers.bulkWrite([{ replaceOne: { filter, replacement, upsert: true } }])
    if (result.matchedCount + result.upsertedCount === 0) throw new LeaseLostError(this.projection)
    this.#document = replacement
  }
}

export async function readPointer(readModels: ReadModels, projection: string): Promise<PointerDocument | null> {
  return (await readModels.collection(collections.pointers).findOne({ _id: projection })) as PointerDocument | null
}

/** Returns the progress after a page up to `position`, whose last event of the projection is `last`, if it has one. */
export function progressAfter(position: Position, last: RecordedEvent | undefined, before: Progress): Progress {
  const reached = formatPosition(position)
  if (!last) return { ...before, position: reached }
  const { stream, revision, recordedAtMs } = last
  return { position: reached, lastEvent: { stream, revision, position: formatPosition(last.position), recordedAtMs } }
}

/**
 * Returns the position to resume from. Without an applied event it starts over, which loses nothing: the position could belong to a
 * different log.
 */
export function resumePosition({ position, lastEvent }: Progress): Position | undefined {
  return lastEvent && position !== undefined ? parsePosition(position) : undefined
}

/**
 * Returns whether documents with this progress were built from this log in its present state, and not from another log, from a state that
 * a restore has undone, or from a copy in another engine, which has other positions. @throws StoreUnavailableError
 */
export async function isOfThisLog(store: Pick<EventStore, 'readStream'>, { lastEvent }: Progress): Promise<boolean> {
  if (!lastEvent) return true
  const { stream, revision, position } = lastEvent
  const [found] = await store.readStream(stream, { fromRevision: revision, maxCount: 1 })
  return found !== undefined && found.position.commit === parsePosition(position)?.commit
}

/** Returns whether this version of the projection can resume the build. @throws StoreUnavailableError, ReadModelsUnavailableError */
export async function isUsable(
  { store, readModels }: Pick<ProjectionDependencies, 'store' | 'readModels'>,
  version: number,
  build: Pick<ProjectionBuild, 'collection' | 'version' | 'progress'>,
): Promise<boolean> {
  if (build.version !== version || !(await isOfThisLog(store, build.progress))) return false
  return (await readModels.listCollections()).includes(build.collection)
}

/** Returns how far along the log a stored position is, for progress figures only. */
export function commitOf(position: string | undefined): number {
  return position === undefined ? 0 : Number(parsePosition(position)?.commit ?? 0)
}
