import type { Logger } from 'pino'
import type { Page } from '../event-store/event-store.js'
import { comparePositions } from '../event-store/event-store.js'
import type { TaskDocument } from '../read-models/documents.js'
import type { Lease } from '../read-models/leases.js'
import { follow, readAnew } from '../subscriptions/follow.js'
import { pause, type RetryOptions, retryWhileUnavailable } from '../subscriptions/retry.js'
import { inSpanOfEach } from '../tracing/tracing.js'
import { applyEvents } from './apply-page.js'
import { Checkpoint, isOfThisLog, LeaseLostError, readCheckpoint } from './checkpoints.js'
import { type Projection, type ProjectionDependencies, ProjectionError } from './projection.js'
import { builtName, dropLeftovers, previousName } from './rebuild/build.js'
import { ServedDocuments } from './served-documents.js'
import { type Served, TaskWorker } from './tasks/task-worker.js'
import { isUnfinished, Tasks } from './tasks/tasks.js'

const lookEveryMs = 1_000
/** A busy log is followed in few large turns: each costs two transactions, and writes every inner page of an index once more. */
const gatherMs = { calm: 25, busy: 200 } as const
/** After so many holders that died at the same place it is the task that ends them. */
const maxInterruptions = 8
const itself = 'system:projections'

export interface RunnerDependencies extends ProjectionDependencies {
  readonly logger: Logger
}

/** Runs one projection while its lease lasts: follows the log, and does what is asked of it, or what outdated documents need. */
export class ProjectionRunner {
  readonly #lease: Lease
  readonly #ending = new AbortController()
  readonly #checkpoint: Checkpoint
  readonly #tasks: Tasks
  readonly #worker: TaskWorker
  readonly #retry: RetryOptions
  readonly #logger: Logger
  /** The stored documents must be rebuilt before anything is added to them. */
  #outdated = false
  /** Nothing was built yet, and the first task builds it. */
  #waitsForFirst = false
  /** Whatever became of it: who cancels it means it. */
  #wasRenewed = false
  #paused = false
  /** The event at which it is stopped. */
  #stoppedAt: ProjectionError['event'] | undefined
  #serving: { readonly stopping: AbortController; readonly ended: Promise<void> } | undefined
  #working: Promise<void> | undefined
  /** A task has the documents for itself. */
  #isExclusive = false

  constructor(
    private readonly deps: RunnerDependencies,
    private readonly projection: Projection,
    lease: Lease,
  ) {
    this.#lease = { token: lease.token, signal: AbortSignal.any([lease.signal, this.#ending.signal]) }
    this.#logger = deps.logger.child({ projection: projection.name })
    this.#checkpoint = new Checkpoint(deps.readModels, projection, lease.token, deps.clock)
    this.#tasks = new Tasks(deps.readModels, deps.clock)
    this.#retry = {
      signal: this.#lease.signal,
      onUnavailable: (error, failures) => this.#logger.warn({ err: error, failures }, 'a store is unavailable'),
    }
    this.#worker = new TaskWorker(deps, projection, this.#lease, this.#retry, this.#tasks, this.#served())
  }

  /** Ends with the lease. A failure is logged and recorded; the projection then is stopped until the event is skipped, or it is rebuilt. */
  async run(): Promise<void> {
    try {
      await retryWhileUnavailable(() => this.#prepare(), this.#retry)
      while (!this.#lease.signal.aborted) {
        await retryWhileUnavailable(() => this.#look(), this.#retry)
        await pause(lookEveryMs, this.#lease.signal)
      }
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error
    } finally {
      this.#ending.abort()
      await this.#working
      await this.#stopServing()
    }
  }

  async #prepare(): Promise<void> {
    const { readModels, store } = this.deps
    const { name, version, collection, indexes } = this.projection
    await readModels.repairReplace(collection, previousName(this.projection))
    const { task } = await this.#tasks.look(name)
    await dropLeftovers(readModels, this.projection, isUnfinished(task) ? task?.beside?.collection : undefined)
    await this.#checkpoint.load()
    const stored = await readCheckpoint(readModels, name)
    const exists = (await readModels.listCollections()).includes(collection)
    this.#outdated = stored !== null && (stored.version !== version || !exists || !(await isOfThisLog(store, stored)))
    this.#waitsForFirst = stored === null && isUnfinished(task)
    await this.#dropStandby()
    // Also on documents that are to be rebuilt: until the switch it is they that this version's questions are answered from.
    if (!this.#outdated || exists) await readModels.createIndexes(collection, indexes)
  }

  /** What another version has built, or a log that is another one now, is of no use to anybody. */
  async #dropStandby(): Promise<void> {
    const { readModels } = this.deps
    const names = { built: builtName(this.projection), previous: previousName(this.projection) }
    const there = await readModels.listCollections()
    for (const standby of ['built', 'previous'] as const) {
      const documents = this.#checkpoint.standby(standby)
      const isThere = there.includes(names[standby])
      const isOfUse = documents && isThere && documents.version === this.projection.version && !this.#outdated
      if (isOfUse && (await isOfThisLog(this.deps.store, documents))) continue
      if (documents) await this.#checkpoint.setStandby(standby, undefined)
      if (isThere) await readModels.drop(names[standby])
    }
  }

  /** At what people have asked for, and at what has changed. */
  async #look(): Promise<void> {
    const { task, paused } = await this.#tasks.look(this.projection.name)
    if (!this.#isExclusive) await this.#pauseOrResume(paused !== null)
    if (this.#working) return
    if (isUnfinished(task)) this.#begin(task!)
    else if (this.#waitsForFirst) this.#waitsForFirst = false
    else await this.#goOn()
  }

  async #pauseOrResume(paused: boolean): Promise<void> {
    this.#paused = paused
    if (paused) await this.#stopServing()
    else if (!this.#serving && !this.#waitsForFirst && !this.#stoppedAt) {
      if (!this.#outdated) this.#serve()
      else if (!this.#working && !this.#wasRenewed) await this.#renew()
    }
  }

  /** Nothing may be added to documents of another shape or another log. */
  async #renew(): Promise<void> {
    const { name } = this.projection
    this.#wasRenewed = true
    if (isUnfinished(await this.#tasks.find(name))) return
    this.#logger.info('rebuilding, as the documents are not those this version would have built')
    const { task } = await this.#tasks.ask(name, { what: 'rebuild', by: itself })
    this.#begin(task)
  }

  #begin(task: TaskDocument): void {
    this.#working = this.#work(task)
      .catch((error) => {
        if (!(error instanceof LeaseLostError)) this.#logger.error({ err: error }, 'a task ended unexpectedly')
        this.#ending.abort()
      })
      .finally(() => {
        this.#working = undefined
      })
  }

  async #work(asked: TaskDocument): Promise<void> {
    if (asked.state === 'cancelling') return this.#worker.cleanUp(asked)
    const died = asked.state === 'running' ? (asked.interruptions ?? 0) + 1 : 0
    const task = await retryWhileUnavailable(() => this.#tasks.take(asked, this.#lease.token, died), this.#retry)
    if (!task) return
    if (died >= maxInterruptions)
      return this.#tasks.end(task, 'failed', { reason: `it was interrupted ${died} times at the same place` })
    this.#logger.info({ task: task.what, by: task.by }, 'a task begins')
    const failure = await this.#worker.work(task)
    this.#waitsForFirst = false
    if (failure === undefined) this.#logger.info({ task: task.what }, 'a task is done')
    else this.#logger.error({ err: failure, task: task.what }, 'a task failed; the documents in use stay')
    // Nothing follows the log until it is rebuilt: it is stopped as one that serves would be.
    if (this.#outdated && failure instanceof ProjectionError) await this.#stop(failure)
  }

  #served(): Served {
    return {
      checkpoint: this.#checkpoint,
      areComparable: () => !this.#outdated && !this.#waitsForFirst,
      exclusively: (work) => this.#exclusively(work),
      renewed: () => {
        this.#outdated = false
        this.#waitsForFirst = false
        this.#stoppedAt = undefined
      },
    }
  }

  async #exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#isExclusive = true
    try {
      await this.#stopServing()
      return await work()
    } finally {
      this.#isExclusive = false
      const goesOn = !this.#paused && !this.#outdated && !this.#waitsForFirst && !this.#stoppedAt
      if (goesOn && !this.#lease.signal.aborted) this.#serve()
    }
  }

  #serve(): void {
    const stopping = new AbortController()
    // Anew each time: others may have taken the place of those that were known.
    const documents = new ServedDocuments(this.deps.readModels.collection(this.projection.collection))
    const ended = follow({
      ...this.#retry,
      signal: AbortSignal.any([this.#lease.signal, stopping.signal]),
      store: this.deps.store,
      after: this.#checkpoint.position,
      streamPrefixes: this.projection.streamPrefixes,
      gatherMs,
      handle: (page) => this.#apply(documents, page),
    }).catch((error) => this.#stop(error))
    this.#serving = { stopping, ended }
  }

  async #stopServing(): Promise<void> {
    this.#serving?.stopping.abort()
    await this.#serving?.ended
    this.#serving = undefined
  }

  async #apply(documents: ServedDocuments, page: Page): Promise<void> {
    if (this.#lease.signal.aborted) return
    const { name } = this.projection
    const start = ({ type }: { readonly type: string }) => {
      const attributes = { 'transferd.projection': name, 'transferd.event_type': type }
      return { name: `projection ${name}`, kind: 'consumer', attributes } as const
    }
    try {
      await inSpanOfEach(page.events, start, () => applyEvents(this.projection, documents, page.events))
    } catch (error) {
      if (error instanceof ProjectionError) await this.#reachedBefore(error, page)
      throw error
    }
    if (page.checkpoint) await this.#checkpoint.reached(page.checkpoint, page.events.at(-1))
  }

  /** So that the checkpoint says what the documents have: what is built is compared with them at that place. */
  async #reachedBefore({ event }: ProjectionError, { events }: Page): Promise<void> {
    const last = events.findLast(({ position }) => comparePositions(position, event.position) < 0)
    if (last) await this.#checkpoint.reached(last.position, last)
  }

  /** Stops at an event that cannot be applied: to skip it would be a silent hole in the documents. */
  async #stop(error: unknown): Promise<void> {
    try {
      if (error instanceof LeaseLostError) throw error
      this.#logger.error({ err: error }, 'the projection stopped; see docs/operating/projections.md')
      const event = error instanceof ProjectionError ? error.event : undefined
      await retryWhileUnavailable(() => this.#checkpoint.fail(event, reasonOf(error)), this.#retry)
      this.#stoppedAt = event
    } catch (lost) {
      this.#logger.warn({ err: lost }, 'the lease was lost')
      this.#ending.abort()
    }
  }

  /** Resumes once the event at which the projection stopped is skipped. */
  async #goOn(): Promise<void> {
    if (!this.#stoppedAt || this.#paused) return
    const { stream, revision: fromRevision } = this.#stoppedAt
    const [event] = await this.deps.store.readStream(stream, { fromRevision, maxCount: 1 })
    if (!event?.isSkipped) return
    this.#logger.info({ event: `${stream}@${fromRevision}` }, 'resuming: the event is skipped')
    this.#stoppedAt = undefined
    await this.#stopServing()
    readAnew(this.deps.store)
    if (this.#outdated) await this.#renew()
    else this.#serve()
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
