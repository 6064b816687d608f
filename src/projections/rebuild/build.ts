import { comparePositions, type Page, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import type { Progress } from '../../read-models/documents.js'
import { type ReadModels, type WriteOperation, writtenId } from '../../read-models/read-models.js'
import { applyEvents, type Projection, type ProjectionTarget } from '../projection.js'
import { progressAfter, resumePosition } from '../projection-pointer.js'

const reportEveryMs = 1_000
/** A killed build repeats at most this much work. */
const flushEveryMs = 3_000
/** Above this size, indexes are kept while documents are written: creating one locks out all writers for a second per million documents. */
const maxUnindexed = 1_000_000

export interface BuildTarget extends ProjectionTarget {
  flush?(): Promise<void>
}

export interface BuildOptions {
  readonly readModels: ReadModels
  readonly projection: Projection
  readonly signal: AbortSignal
  readonly collection: string
  readonly target: BuildTarget
  readonly progress: Progress
  /** Returns the position to reach, which can still move; `undefined` before the first event. */
  readonly limit: () => Position | 'end' | undefined
  /** Called regularly. An error ends the build. */
  readonly onProgress: (build: Build) => Promise<void>
}

export class Build {
  progress: Progress
  /** The progress of the documents that a crash cannot lose. */
  durable: Progress
  position: Position | undefined
  #events = 0
  #isIndexed = false
  /** If set, it receives the ids that are written from then on. */
  written: Set<string> | undefined
  readonly #startedAtMs = performance.now()
  #reportedAtMs = this.#startedAtMs
  #flushedAtMs = this.#startedAtMs

  constructor(readonly options: BuildOptions) {
    this.progress = options.progress
    this.durable = options.progress
    this.position = resumePosition(options.progress)
  }

  get eventsPerSecond(): number {
    return Math.round((this.#events * 1_000) / Math.max(1, performance.now() - this.#startedAtMs))
  }

  get hasReachedLimit(): boolean {
    const limit = this.options.limit()
    return limit === undefined || (limit !== 'end' && !isAfter(limit, this.position))
  }

  /** Applies the projection's events of a page. Returns whether the limit is reached. @throws ProjectionError, the signal's reason */
  async take(page: Page): Promise<boolean> {
    this.options.signal.throwIfAborted()
    const limit = this.options.limit()
    if (limit === undefined) return true
    const { checkpoint = this.position } = page
    const to = limit !== 'end' && checkpoint && comparePositions(limit, checkpoint) < 0 ? limit : checkpoint
    if (to && isAfter(to, this.position)) {
      const events = page.events.filter((recorded) => this.#isNext(recorded, to))
      if (events.length > 0) await applyEvents(this.options.projection, this.#target, events)
      this.#events += events.length
      this.position = to
      this.progress = progressAfter(to, events.at(-1), this.progress)
    }
    if (performance.now() - this.#flushedAtMs >= flushEveryMs) await this.#flush()
    else await this.reportIfDue()
    return limit === 'end' ? page.atEnd : this.hasReachedLimit
  }

  /** Makes everything durable, in the collection and its indexes. */
  async complete(): Promise<void> {
    await this.#flush()
    await this.#createIndexes()
    this.options.signal.throwIfAborted()
  }

  /** @throws the signal's reason */
  async reportIfDue(): Promise<void> {
    this.options.signal.throwIfAborted()
    if (performance.now() - this.#reportedAtMs >= reportEveryMs) await this.#report()
  }

  async #report(): Promise<void> {
    this.#reportedAtMs = performance.now()
    await this.options.onProgress(this)
  }

  async #flush(): Promise<void> {
    await this.options.target.flush?.()
    if (this.#events > maxUnindexed) await this.#createIndexes()
    this.durable = this.progress
    this.#flushedAtMs = performance.now()
    this.options.signal.throwIfAborted()
    await this.#report()
  }

  async #createIndexes(): Promise<void> {
    if (this.#isIndexed) return
    const { readModels, collection, projection } = this.options
    await readModels.createIndexes(collection, projection.indexes)
    this.#isIndexed = true
  }

  readonly #target: ProjectionTarget = {
    byIds: (ids) => this.options.target.byIds(ids),
    write: (operations: readonly WriteOperation[]) => {
      if (this.written) for (const operation of operations) this.written.add(writtenId(operation))
      return this.options.target.write(operations)
    },
  }

  #isNext({ stream, position }: RecordedEvent, to: Position): boolean {
    const isIncluded = isAfter(position, this.position) && !isAfter(position, to)
    return isIncluded && this.options.projection.streamPrefixes.some((prefix) => stream.startsWith(prefix))
  }
}

function isAfter(position: Position, other: Position | undefined): boolean {
  return other === undefined || comparePositions(position, other) > 0
}
