import { streamKind } from '../../domain/streams.js'
import {
  comparePositions,
  type EventStore,
  type Page,
  type Position,
  type RecordedEvent,
} from '../../event-store/event-store.js'
import type { Place } from '../../read-models/documents.js'
import type { Lease } from '../../read-models/leases.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { applyEvents } from '../apply-page.js'
import { LeaseLostError, placeAfter, positionOf } from '../checkpoints.js'
import type { Projection } from '../projection.js'
import { BufferedDocuments } from './buffered-documents.js'
import { Staging, stagedName } from './staging.js'

const tellEveryMs = 1_000
/** How often what was done is made durable: so much is done again after a kill. */
const flushEveryMs = 3_000
/** Above so many documents an index is kept while they come: to make one holds the lock of all writers for a second in a million documents. */
const indexedLaterMax = 1_000_000

export interface BuildDependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly projection: Projection
  readonly lease: Lease
  /** Where the documents are, and how far they are. */
  readonly collection: string
  readonly place: Place
  /** How far they are to come, as it is now; undefined before the first event. */
  readonly limit: () => Position | 'end' | undefined
  /** Told now and then; `written`: up to where everything is. What it throws ends the build. */
  readonly onProgress: (progress: BuildProgress) => Promise<void>
}

export interface BuildProgress {
  readonly place: Place
  readonly written: Place
  readonly eventsPerSecond: number
}

/** Documents of a projection in a collection of their own, on their way through the log. */
export class Build {
  readonly #documents: BufferedDocuments
  readonly #kinds: ReadonlySet<string | undefined>
  /** How names begin that say more than the kind. */
  readonly #prefixes: readonly string[]
  #place: Place
  #position: Position | undefined
  #events = 0
  #documentsPut = 0
  #isIndexed = false
  readonly #beganAtMs = performance.now()
  #toldAtMs = this.#beganAtMs
  #flushedAtMs = this.#beganAtMs
  #written: Place

  constructor(private readonly deps: BuildDependencies) {
    const { readModels, collection, projection, place } = deps
    const { areSortedFirst = false } = projection
    const staging = areSortedFirst ? new Staging(readModels, collection, () => this.#goOn()) : undefined
    const areNeededAgain = 'needs' in projection && !areSortedFirst
    this.#documents = new BufferedDocuments(readModels.collection(collection), areNeededAgain, staging)
    this.#kinds = new Set(projection.streamPrefixes)
    this.#prefixes = projection.streamPrefixes.filter((prefix) => streamKind(prefix) !== prefix)
    this.#place = place
    this.#written = place
    this.#position = positionOf(place)
  }

  get place(): Place {
    return this.#place
  }

  get position(): Position | undefined {
    return this.#position
  }

  get projection(): Projection {
    return this.deps.projection
  }

  get collection(): string {
    return this.deps.collection
  }

  get documents(): BufferedDocuments {
    return this.#documents
  }

  /** It has come as far as it is to come. */
  get isThere(): boolean {
    const limit = this.deps.limit()
    if (limit === 'end') return false
    return limit === undefined || (this.#position !== undefined && comparePositions(this.#position, limit) >= 0)
  }

  /** Takes of a page what is its own and behind its place; true when it is where it is to come. @throws LeaseLostError, ProjectionError */
  async take(page: Page): Promise<boolean> {
    this.checkHeld()
    const limit = this.deps.limit()
    if (limit === undefined) return true
    const position = this.#position
    const events = page.events.filter((recorded) => this.#isNext(recorded, position, limit))
    const { checkpoint = position } = page
    const to = limit !== 'end' && checkpoint && comparePositions(limit, checkpoint) < 0 ? limit : checkpoint
    if (to && !(position && comparePositions(to, position) <= 0)) {
      await this.#apply(events)
      this.#position = to
      this.#place = placeAfter(to, events.at(-1), this.#place)
    }
    if (performance.now() - this.#flushedAtMs >= flushEveryMs) await this.flush()
    else await this.#goOn()
    return limit === 'end' ? page.atEnd : this.isThere
  }

  async flush(): Promise<void> {
    await this.#documents.flush()
    if (!this.#isIndexed && this.#documentsPut > indexedLaterMax) await this.#index()
    this.#written = this.#place
    this.#flushedAtMs = performance.now()
    await this.#tell()
  }

  /** All that was taken is in the collection then, by its indexes too. */
  async complete(): Promise<void> {
    await this.#documents.finish()
    await this.flush()
    await this.#index()
  }

  async #index(): Promise<void> {
    if (this.#isIndexed) return
    await this.deps.readModels.createIndexes(this.collection, this.projection.indexes)
    this.#isIndexed = true
  }

  /** @throws LeaseLostError */
  checkHeld(): void {
    if (this.deps.lease.signal.aborted) throw new LeaseLostError(this.projection.name)
  }

  /** @throws LeaseLostError, and whatever ends the build */
  async #goOn(): Promise<void> {
    this.checkHeld()
    if (performance.now() - this.#toldAtMs >= tellEveryMs) await this.#tell()
  }

  async #tell(): Promise<void> {
    this.checkHeld()
    this.#toldAtMs = performance.now()
    const eventsPerSecond = Math.round((this.#events * 1_000) / (this.#toldAtMs - this.#beganAtMs))
    await this.deps.onProgress({ place: this.#place, written: this.#written, eventsPerSecond })
  }

  async #apply(events: readonly RecordedEvent[]): Promise<void> {
    if (events.length === 0) return
    await applyEvents(this.projection, this.#documents, events)
    this.#events += events.length
    this.#documentsPut += events.length
  }

  #isNext({ stream, position }: RecordedEvent, after: Position | undefined, limit: Position | 'end'): boolean {
    return (
      (this.#kinds.has(streamKind(stream)) || this.#prefixes.some((prefix) => stream.startsWith(prefix))) &&
      !(after && comparePositions(position, after) <= 0) &&
      !(limit !== 'end' && comparePositions(position, limit) > 0)
    )
  }
}

/**
 * Goes on with what another holder has begun. First the collection itself: a crash in between then leaves none of the name that is known, and all
 * begins anew; the other way round what is staged would be missing from it.
 */
export async function takeOver(readModels: ReadModels, from: string, to: string): Promise<void> {
  await readModels.rename(from, to)
  if ((await readModels.listCollections()).includes(stagedName(from)))
    await readModels.rename(stagedName(from), stagedName(to))
}

const besideMark = '__rebuild_'

/**
 * The name is this lease's own: a holder that lost its lease without noticing must neither write into its successor's
 * documents nor switch to what is half done.
 */
export function besideName(projection: Projection, lease: Pick<Lease, 'token'>): string {
  return `${projection.collection}${besideMark}${lease.token}`
}

export function builtName(projection: Projection): string {
  return `${projection.collection}__built`
}

export function previousName(projection: Projection): string {
  return `${projection.collection}__previous`
}

/** What tasks that nobody goes on with have left behind. */
export async function dropLeftovers(readModels: ReadModels, projection: Projection, except?: string): Promise<void> {
  for (const name of await readModels.listCollections()) {
    const isKept = except !== undefined && (name === except || name === stagedName(except))
    if (name.startsWith(`${projection.collection}${besideMark}`) && !isKept) await readModels.drop(name)
  }
}
