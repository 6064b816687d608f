import type { Logger } from 'pino'
import { comparePositions, formatPosition, type Page } from '../event-store/event-store.js'
import type { ProjectionBuild, RequestDocument, TaskRecord } from '../read-models/documents.js'
import { ServedDocuments } from '../read-models/find-documents.js'
import type { Lease } from '../read-models/leases.js'
import { buildName, pointerMaxAgeMs } from '../read-models/read-models-adapter.js'
import { discardSharedPages, follow } from '../subscriptions/follow.js'
import { pause, type RetryOptions, retryWhileUnavailable } from '../subscriptions/retry.js'
import { inSpanOfEach } from '../tracing/tracing.js'
import { applyEvents, type Projection, type ProjectionDependencies, ProjectionError, reasonOf } from './projection.js'
import { isUsable, LeaseLostError, ProjectionPointer, resumePosition } from './projection-pointer.js'
import { isUnfinished, type ProjectionTask, ProjectionTasks, taskOf } from './projection-tasks.js'
import { dropUnusedBuilds, type Serving, TaskWorker } from './rebuild/task-worker.js'

const taskPollMs = 1_000
/** A busy log is followed in fewer, larger pages: each costs two transactions and writes every inner page of an index again. */
const gather = { gatherMs: 25, busyGatherMs: 200 } as const
/** A task that has killed this many holders without progress is ended. */
const maxInterruptions = 8

export interface RunnerDependencies extends ProjectionDependencies {
  readonly logger: Logger
}

/** The events after which personal data of earlier ones must not be readable. */
const erasures: ReadonlySet<string> = new Set(['PersonalDataErased', 'BankCounterpartyErased'])

/** Runs one projection while its lease lasts: follows the log, performs requested tasks, and replaces outdated documents. */
export class ProjectionRunner implements Serving {
  readonly pointer: ProjectionPointer
  readonly #signal: AbortSignal
  readonly #ending = new AbortController()
  readonly #tasks: ProjectionTasks
  readonly #retry: RetryOptions
  readonly #logger: Logger
  /** `new`: the first task builds the documents. `outdated`: no event may be applied to documents of another version or log. */
  #state: 'new' | 'outdated' | 'current' = 'current'
  /** Only one replacement is requested, because an operator may cancel it. */
  #isReplacementRequested = false
  #isPaused = false
  /** The event at which the projection is stopped. */
  #stoppedAt: ProjectionError['event'] | undefined
  #following: { readonly stopping: AbortController; readonly ended: Promise<void> } | undefined
  #working: { readonly requestId: string; readonly cancelling: AbortController; ended?: Promise<void> } | undefined
  #isExclusive = false

  constructor(
    readonly deps: RunnerDependencies,
    readonly projection: Projection,
    { token, signal }: Lease,
  ) {
    this.#signal = AbortSignal.any([signal, this.#ending.signal])
    this.#logger = deps.logger.child({ projection: projection.name })
    this.pointer = new ProjectionPointer(deps.readModels, projection.name, token, deps.clock)
    this.#tasks = new ProjectionTasks(deps.readModels, deps.clock)
    this.#retry = {
      signal: this.#signal,
      onUnavailable: (error, failures) => this.#logger.warn({ err: error, failures }, 'a store is unavailable'),
    }
  }

  /** Ends with the lease. After a failure, which is logged and recorded, the projection is stopped until it can resume. */
  async run(): Promise<void> {
    try {
      await retryWhileUnavailable(() => this.#prepare(), this.#retry)
      while (!this.#signal.aborted) {
        await retryWhileUnavailable(() => this.#look(), this.#retry)
        await pause(taskPollMs, this.#signal)
      }
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error
    } finally {
      this.#ending.abort()
      await this.#working?.ended
      await this.#stopFollowing()
    }
  }

  async #prepare(): Promise<void> {
    const { readModels } = this.deps
    const { name, version, indexes } = this.projection
    const { served, built, previous, task } = (await this.pointer.load()) ?? { served: await this.#createFirst() }
    const { request } = await this.#tasks.findRequests(name)
    const isTaskUnfinished = isUnfinished(taskOf(name, request, task))
    // Saved in any case, so that a holder that has lost its lease without noticing can no longer write.
    await this.pointer.save({
      served,
      built: built && (await isUsable(this.deps, version, built)) ? built : undefined,
      // After a downgrade, the build of the older version can serve again.
      previous: previous && (await isUsable(this.deps, previous.version, previous)) ? previous : undefined,
    })
    await dropUnusedBuilds(this, isTaskUnfinished)
    // Until a switch, the queries of this version read outdated documents too.
    if ((await readModels.listCollections()).includes(served.collection))
      await readModels.createIndexes(served.collection, indexes)
    if (!(await isUsable(this.deps, version, served))) this.#state = 'outdated'
    else if (served.progress.position === undefined && isTaskUnfinished) this.#state = 'new'
  }

  async #createFirst(): Promise<ProjectionBuild> {
    const { version, indexes } = this.projection
    const collection = buildName(this.projection.collection, version)
    await this.deps.readModels.createIndexes(collection, indexes)
    return { collection, version, progress: {}, at: this.deps.clock() }
  }

  async #look(): Promise<void> {
    const { name } = this.projection
    const { request, paused } = await this.#tasks.findRequests(name)
    const task = taskOf(name, request, this.pointer.document.task)
    this.#isPaused = paused !== null
    if (this.#isPaused && !this.#isExclusive) await this.#stopFollowing()
    this.#cancelUnless(request)
    if (!this.#working && task && isUnfinished(task)) this.#begin(task)
    if (!this.#working && this.#state === 'new') this.#state = 'current'
    if (!this.#isPaused && !this.#isExclusive) await this.#resume()
  }

  #cancelUnless(request: RequestDocument | null): void {
    if (this.#working && this.#working.requestId !== request?.requestId) this.#working.cancelling.abort()
  }

  async #resume(): Promise<void> {
    if (this.#stoppedAt && !this.#working) await this.#checkSkipped(this.#stoppedAt)
    const isWaiting = this.#working || this.#stoppedAt || this.#isReplacementRequested
    if (this.#state === 'outdated' && !isWaiting) await this.#replaceOutdated()
    if (this.#state === 'current' && !this.#following && !this.#stoppedAt) this.#follow()
  }

  async #replaceOutdated(): Promise<void> {
    const { built, previous } = this.pointer.document
    const hasPrevious = previous?.version === this.projection.version
    const what = built ? 'switch' : hasPrevious ? 'rollback' : 'rebuild'
    this.#logger.info(`${what}: the projection's documents come from a different version or a different log`)
    const { task } = await this.#tasks.request(this.projection.name, { what, by: 'system:projections' })
    this.#begin(task)
  }

  #begin(task: ProjectionTask): void {
    // An operator's request in the meantime takes precedence; its build may have to wait for a switch.
    if (task.what !== 'verify') this.#isReplacementRequested = true
    const cancelling = new AbortController()
    this.#working = { requestId: task.requestId, cancelling }
    this.#working.ended = this.#work(task, AbortSignal.any([this.#signal, cancelling.signal]))
      .catch((error) => {
        const isStopped = error instanceof LeaseLostError || this.#signal.aborted
        if (!isStopped) this.#logger.error({ err: error }, 'a task ended unexpectedly')
        this.#ending.abort()
      })
      .finally(() => {
        this.#working = undefined
      })
  }

  /** @throws LeaseLostError */
  async #work({ projection: _, ...task }: ProjectionTask, signal: AbortSignal): Promise<void> {
    if (task.state === 'cancelling') return this.#endTask('cancelled')
    if (task.isConcluded) return this.#endTask('done')
    const interruptions = task.state === 'running' ? (task.interruptions ?? 0) + 1 : 0
    const record: TaskRecord = { ...task, state: 'running', interruptions, updatedAt: this.deps.clock() }
    const retry = { ...this.#retry, signal }
    await retryWhileUnavailable(() => this.pointer.save({ task: record }), retry)
    this.#logger.info({ task: task.what, by: task.by }, 'a task starts')
    try {
      if (interruptions >= maxInterruptions)
        throw new Error(`it was interrupted ${interruptions} times without progress`)
      await new TaskWorker(this, record, retry).perform()
      await this.#endTask('done')
      this.#logger.info({ task: task.what }, 'a task is done')
    } catch (error) {
      if (error instanceof LeaseLostError || this.#signal.aborted) throw error
      if (signal.aborted) return this.#endTask('cancelled')
      this.#logger.error({ err: error, task: task.what }, 'a task failed; the served documents stay in use')
      await this.#endTask('failed', reasonOf(error))
      // Without a build of this version, the projection is stopped at the event.
      if (this.#state === 'outdated' && error instanceof ProjectionError) await this.#stop(error)
    }
  }

  async #endTask(state: 'done' | 'failed' | 'cancelled', reason?: string): Promise<void> {
    const { task } = this.pointer.document
    if (!task) return
    const { phase, build, secondsLeft, interruptions, isConcluded, ...record } = task
    // Until then, some readers still use the build that was served before.
    if (isConcluded && record.what !== 'verify') await pause(pointerMaxAgeMs, this.#signal)
    const ended = { ...record, ...(reason !== undefined && { reason }), updatedAt: this.deps.clock() }
    await retryWhileUnavailable(async () => {
      await dropUnusedBuilds(this)
      await this.pointer.save({ task: state === 'cancelled' ? undefined : { ...ended, state } })
    }, this.#retry)
  }

  isComparable(): boolean {
    return this.#state === 'current'
  }

  async checkCancelled(): Promise<void> {
    this.#cancelUnless((await this.#tasks.findRequests(this.projection.name)).request)
  }

  switched(): void {
    this.#state = 'current'
    this.#stoppedAt = undefined
  }

  async exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#isExclusive = true
    try {
      await this.#stopFollowing()
      return await work()
    } finally {
      this.#isExclusive = false
      if (!this.#isPaused && this.#state === 'current' && !this.#stoppedAt && !this.#signal.aborted) this.#follow()
    }
  }

  #follow(): void {
    const stopping = new AbortController()
    const { collection, progress } = this.pointer.document.served
    const documents = new ServedDocuments(this.deps.readModels.collection(collection))
    const ended = follow({
      ...this.#retry,
      signal: AbortSignal.any([this.#signal, stopping.signal]),
      store: this.deps.store,
      after: resumePosition(progress),
      streamPrefixes: this.projection.streamPrefixes,
      ...gather,
      handle: (page) => this.#apply(collection, documents, page),
    }).catch((error) => this.#stop(error))
    this.#following = { stopping, ended }
  }

  async #stopFollowing(): Promise<void> {
    this.#following?.stopping.abort()
    await this.#following?.ended
    this.#following = undefined
  }

  async #apply(collection: string, documents: ServedDocuments, { events, checkpoint }: Page): Promise<void> {
    if (this.#signal.aborted) return
    const { name } = this.projection
    const start = ({ type }: { readonly type: string }) => {
      const attributes = { 'transferd.projection': name, 'transferd.event_type': type }
      return { name: `projection ${name}`, kind: 'consumer', attributes } as const
    }
    try {
      await inSpanOfEach(events, start, () => applyEvents(this.projection, documents, events))
    } catch (error) {
      if (error instanceof ProjectionError) {
        // The events before it are applied, and builds are compared at the recorded position.
        const { position } = error.event
        const last = events.findLast((event) => comparePositions(event.position, position) < 0)
        if (last) await this.pointer.advance(collection, last.position, last)
      }
      throw error
    }
    // Before the checkpoint, so that a crash repeats it.
    if (events.some(({ type }) => erasures.has(type))) await this.#dropKeptBuilds()
    if (checkpoint) await this.pointer.advance(collection, checkpoint, events.at(-1))
  }

  /** Drops the builds that do not follow the log, as they contain the erased data. A task applies all events to the build that it opened. */
  async #dropKeptBuilds(): Promise<void> {
    const { built, previous, task } = this.pointer.document
    const opened = this.#working && task?.what
    const kept = {
      built: opened === 'switch' || opened === 'verify' ? built : undefined,
      previous: opened === 'rollback' ? previous : undefined,
    }
    if (kept.built === built && kept.previous === previous) return
    await this.pointer.save(kept)
    await dropUnusedBuilds(this, true)
  }

  /** Stops at an event that cannot be applied, because ignoring it would leave a silent hole in the documents. */
  async #stop(error: unknown): Promise<void> {
    try {
      if (error instanceof LeaseLostError) throw error
      this.#logger.error({ err: error }, 'the projection stopped; see docs/operating/projections.md')
      const { event, remedy }: Partial<ProjectionError> = error instanceof ProjectionError ? error : {}
      const place = event && { ...event, position: formatPosition(event.position), ...(remedy && { remedy }) }
      const failure = { ...place, reason: reasonOf(error), at: this.deps.clock() }
      await retryWhileUnavailable(() => this.pointer.save({ failure }), this.#retry)
      this.#stoppedAt = event
    } catch (lost) {
      this.#logger.warn({ err: lost }, 'the lease was lost')
      this.#ending.abort()
    }
  }

  /** Resumes if an operator has skipped the event at which the projection is stopped. */
  async #checkSkipped({ stream, revision: fromRevision }: ProjectionError['event']): Promise<void> {
    const [event] = await this.deps.store.readStream(stream, { fromRevision, maxCount: 1 })
    if (!event?.isSkipped) return
    this.#logger.info({ event: `${stream}@${fromRevision}` }, 'resuming, because the event is skipped')
    this.#stoppedAt = undefined
    this.#isReplacementRequested = false
    await this.#stopFollowing()
    discardSharedPages(this.deps.store)
  }
}
