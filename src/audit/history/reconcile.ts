import { isDeepStrictEqual } from 'node:util'
import { streamPrefixes } from '../../domain/streams.js'
import {
  comparePositions,
  type EventStore,
  formatPosition,
  logPages,
  type Position,
  type RecordedEvent,
} from '../../event-store/event-store.js'
import { applyEvents, type Projection, ProjectionError, type ProjectionTarget } from '../../projections/projection.js'
import { isOfThisLog, readPointer, resumePosition } from '../../projections/projection-pointer.js'
import { findDifferences } from '../../read-models/find-differences.js'
import { findByIds, slices } from '../../read-models/find-documents.js'
import { type Collection, type Document, type ReadModels, writtenId } from '../../read-models/read-models.js'

/** A document that differs from the one that the log results in. */
export interface Difference {
  readonly id: string
  /** `missing`: only the log results in it; `added`: nothing in the log results in it. */
  readonly kind: 'changed' | 'missing' | 'added'
  /** The differing paths of a changed document. */
  readonly fields: readonly string[]
  /** The values at these paths in the live document and in the one that the log results in; absent where the path does not exist. */
  readonly values: readonly FieldDifference[]
}

interface FieldDifference {
  readonly field: string
  readonly list: unknown
  readonly log: unknown
}

const pageSize = 500
/** The limit per collection: with more differences, a rebuild is needed instead of a list. */
const maxOpen = 50_000
const maxNamed = 1_000

interface Open {
  /** The document as it was read. */
  readonly live: Document | undefined
  /** The smallest difference so far. */
  readonly difference: Difference
}

/** Compares live documents with documents that were built from the log. */
class Comparison {
  /** `undefined` until the document is compared again. */
  readonly #open: Map<string, Open | undefined>

  private constructor(
    private readonly live: Collection,
    private readonly fresh: Collection,
    ids: ReadonlySet<string>,
    private readonly isFull: boolean,
  ) {
    this.#open = new Map([...ids].map((id) => [id, undefined]))
  }

  static async of(live: Collection, fresh: Collection, signal: AbortSignal): Promise<Comparison> {
    const { ids, next } = await findDifferences(live, fresh, signal, undefined, maxOpen)
    const comparison = new Comparison(live, fresh, ids, next !== undefined)
    await comparison.#compareAgain()
    return comparison
  }

  /** Whether any document differs so far. */
  get isOpen(): boolean {
    return this.#open.size > 0
  }

  /** Compares changed built documents again. A document that equals the live one is no longer a difference. */
  async changed(ids: readonly string[]): Promise<void> {
    const open = ids.filter((id) => this.#open.has(id))
    const fresh = await findByIds(this.fresh, open)
    for (const id of open) this.#compare(id, this.#open.get(id)?.live, fresh.get(id))
  }

  /** `more`: there are more differences than listed. */
  async result() {
    const differences = [...this.#open.values()].flatMap((open) => open?.difference ?? [])
    const more = this.isFull || differences.length > maxNamed
    return { documents: await this.live.countDocuments({}), differences: differences.slice(0, maxNamed), more }
  }

  /** Compares the differing documents again, because the two sides were not read at the same time and the live one changes. */
  async #compareAgain(): Promise<void> {
    for (const ids of slices([...this.#open.keys()], pageSize)) {
      const [live, fresh] = await Promise.all([findByIds(this.live, ids), findByIds(this.fresh, ids)])
      for (const id of ids) this.#compare(id, live.get(id), fresh.get(id))
    }
  }

  #compare(id: string, live: Document | undefined, fresh: Document | undefined): void {
    if (isDeepStrictEqual(live, fresh)) {
      this.#open.delete(id)
      return
    }
    const before = this.#open.get(id)?.difference
    const now = differenceOf(id, live, fresh)
    this.#open.set(id, { live, difference: before && isSmaller(before, now) ? before : now })
  }
}

function differenceOf(id: string, live: Document | undefined, fresh: Document | undefined): Difference {
  if (!live) return { id, kind: 'missing', fields: [], values: [] }
  if (!fresh) return { id, kind: 'added', fields: [], values: [] }
  const values = differingFields(live, fresh)
  return { id, kind: 'changed', fields: values.map(({ field }) => field), values }
}

/** A document that exists on both sides has a smaller difference than a missing one. */
function isSmaller(one: Difference, other: Difference): boolean {
  const size = ({ kind, fields }: Difference) => (kind === 'changed' ? fields.length : Number.POSITIVE_INFINITY)
  return size(one) <= size(other)
}

function differingFields(live: object, fresh: object, above = ''): FieldDifference[] {
  const names = new Set([...Object.keys(live), ...Object.keys(fresh)])
  return [...names].flatMap((name) => {
    const [list, log]: unknown[] = [Reflect.get(live, name), Reflect.get(fresh, name)]
    if (isDeepStrictEqual(list, log)) return []
    const field = `${above}${name}`
    return isPlain(list) && isPlain(log) ? differingFields(list, log, `${field}.`) : [{ field, list, log }]
  })
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface ReconcileOptions {
  readonly store: Pick<EventStore, 'readAll' | 'readStream'>
  readonly live: ReadModels
  /** Empty read models, which are filled from the log. */
  readonly fresh: ReadModels
  readonly projections: readonly Projection[]
  readonly signal: AbortSignal
  readonly onProgress: (progress: { readonly at: Position; readonly end: Position }) => void
}

export type Reconciled = Awaited<ReturnType<Replay['result']>>

/**
 * Replays the log into fresh read models and compares them with the live ones, which a running service keeps writing. A live document is
 * right if it results from the log up to the projection's position, or up to a later event that was applied in the meantime. Returns
 * `undefined` if it is interrupted. @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function reconcile(options: ReconcileOptions): Promise<readonly Reconciled[] | undefined> {
  const replays = await Promise.all(options.projections.map((projection) => Replay.of(projection, options)))
  if (!(await replayAll(replays, options))) return undefined
  const results: Reconciled[] = []
  for (const replay of replays) {
    results.push(await replay.result())
    if (options.signal.aborted) return undefined
  }
  return results
}

/** Reads the log once for all projections. Returns false if it is interrupted. */
async function replayAll(
  replays: readonly Replay[],
  { store, signal, onProgress }: ReconcileOptions,
): Promise<boolean> {
  const ends = replays.flatMap(({ checkpoint }) => checkpoint ?? [])
  const end = ends.sort(comparePositions).at(-1)
  if (!end) return true
  for await (const { events, through: at } of logPages(store, { until: end, streamPrefixes })) {
    for (const replay of replays) await replay.take(events)
    if (at) onProgress({ at, end })
    if (signal.aborted) return false
  }
  return true
}

type Events = readonly RecordedEvent[]

/** The documents of one projection, built from the log. */
class Replay {
  readonly #documents: Collection
  readonly #target: ProjectionTarget = {
    byIds: (ids) => findByIds(this.#documents, ids),
    write: async (operations) => {
      this.#touched = operations.map(writtenId)
      await this.#documents.bulkWrite(operations)
    },
  }
  /** The ids of the documents that the last events have written. */
  #touched: readonly string[] = []

  private constructor(
    private readonly options: ReconcileOptions,
    private readonly projection: Projection,
    readonly checkpoint: Position | undefined,
    private readonly live: Collection,
    private problem: string | null,
  ) {
    this.#documents = options.fresh.collection(projection.collection)
  }

  static async of(projection: Projection, options: ReconcileOptions): Promise<Replay> {
    const { served } = (await readPointer(options.live, projection.name)) ?? {}
    const live = options.live.collection(served?.collection ?? projection.collection)
    const checkpoint = served && resumePosition(served.progress)
    if (!served || !checkpoint) return new Replay(options, projection, undefined, live, null)
    const problem =
      served.version !== projection.version
        ? `built by version ${served.version} of the projection; this program has version ${projection.version}`
        : (await isOfThisLog(options.store, served.progress))
          ? null
          : 'built from another log, or from another state of this one'
    return new Replay(options, projection, problem === null ? checkpoint : undefined, live, problem)
  }

  /** Applies the events of a page that the live documents contain. */
  async take(events: Events): Promise<void> {
    const { checkpoint } = this
    if (!checkpoint || this.problem !== null) return
    const applied = this.#own(events).filter(({ position }) => comparePositions(position, checkpoint) <= 0)
    const failure = await this.#apply(applied)
    if (failure !== undefined) this.problem = failure
  }

  /** `comparedAt` is null if no event was applied. `problem` is the reason why the documents cannot be compared. */
  async result() {
    const { name } = this.projection
    const shared = { projection: name, comparedAt: this.checkpoint ? formatPosition(this.checkpoint) : null }
    if (this.problem !== null) {
      return { ...shared, documents: 0, problem: this.problem, differences: [] as Difference[], more: false }
    }
    const comparison = await Comparison.of(this.live, this.#documents, this.options.signal)
    if (comparison.isOpen) await this.#followLive(comparison)
    return { ...shared, problem: null, ...(await comparison.result()) }
  }

  /** Applies later events one at a time, because each live document was right after one of them, or never. */
  async #followLive(comparison: Comparison): Promise<void> {
    for await (const { events } of logPages(this.options.store, { after: this.checkpoint, streamPrefixes })) {
      for (const event of this.#own(events)) {
        if (!comparison.isOpen) return
        // The live projection is stopped at the event as well.
        if ((await this.#apply([event])) !== undefined) return
        await comparison.changed(this.#touched)
      }
    }
  }

  #own(events: Events): Events {
    const { streamPrefixes } = this.projection
    return events.filter(({ stream }) => streamPrefixes.some((prefix) => stream.startsWith(prefix)))
  }

  /** Returns the reason why it failed. */
  async #apply(events: Events): Promise<string | undefined> {
    this.#touched = []
    if (events.length === 0) return undefined
    try {
      await applyEvents(this.projection, this.#target, events)
      return undefined
    } catch (error) {
      if (!(error instanceof ProjectionError)) throw error
      return error.message
    }
  }
}
