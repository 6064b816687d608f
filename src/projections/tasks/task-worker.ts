import { randomUUID } from 'node:crypto'
import { endOfLog } from '../../event-store/end-of-log.js'
import { formatPosition } from '../../event-store/event-store.js'
import type { ComparisonDocument, ProjectionBuild, TaskDocument } from '../../read-models/documents.js'
import type { Lease } from '../../read-models/leases.js'
import { buildName, buildPrefix, pointerMaxAgeMs } from '../../read-models/projection-pointers.js'
import { pause, type RetryOptions, retryWhileUnavailable } from '../../subscriptions/retry.js'
import type { Projection, ProjectionDependencies } from '../projection.js'
import { commitOf, isUsable, LeaseLostError, type ProjectionPointer, resumePosition } from '../projection-pointer.js'
import { BufferedDocuments } from '../rebuild/buffered-documents.js'
import { Build, type BuildOptions } from '../rebuild/build.js'
import { findDifferences, stillDiffering } from '../rebuild/find-differences.js'
import { catchUp, passThroughLog } from '../rebuild/log-pass.js'
import { Staging, stagedName } from '../rebuild/staging.js'
import { ServedDocuments } from '../served-documents.js'
import { type ProjectionTasks, TaskLostError } from './projection-tasks.js'

const maxNamed = 20

/** The served build, as the runner of its projection controls it. */
export interface Serving {
  readonly pointer: ProjectionPointer
  /** Whether the served build has this version and is of this log. Only then a new build is compared with it, at its position. */
  isComparable(): boolean
  /** Runs `work` while nothing is written to the served build. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>
  /** To be called after a build of this version and log is served. */
  switched(): void
}

class TaskRejectedError extends Error {}

/** Performs the tasks of a projection while its lease lasts. */
export class TaskWorker {
  constructor(
    private readonly deps: ProjectionDependencies,
    private readonly projection: Projection,
    private readonly lease: Lease,
    private readonly retry: RetryOptions,
    private readonly tasks: ProjectionTasks,
    private readonly serving: Serving,
  ) {}

  /** Returns the error with which the task ended, or `undefined`. @throws LeaseLostError */
  async work(task: TaskDocument): Promise<unknown> {
    try {
      await this.#perform(task)
      await this.#end(task, 'done')
      return undefined
    } catch (error) {
      if (error instanceof LeaseLostError || this.lease.signal.aborted) throw new LeaseLostError(this.projection.name)
      const reason = error instanceof Error ? error.message : String(error)
      if (error instanceof TaskLostError) await this.cleanUp(task)
      else await this.#end(task, 'failed', reason).catch((lost) => this.#cleanUpIfLost(task, lost))
      return error
    }
  }

  /** Removes a cancelled task and its unfinished build. @throws LeaseLostError */
  async cleanUp(task: TaskDocument): Promise<void> {
    const found = await this.#available(() => this.tasks.find(task._id))
    if (found?.requestId === task.requestId && found.state === 'running') throw new LeaseLostError(this.projection.name)
    await this.#available(() => this.dropUnused())
    await this.#available(() => this.tasks.remove(task))
  }

  /** Drops the builds that neither the pointer nor `unfinished` names. @throws LeaseLostError */
  async dropUnused(unfinished?: string): Promise<void> {
    const { readModels } = this.deps
    const { served, built, previous } = (await this.serving.pointer.load()) ?? {}
    const used = [served, built, previous].flatMap((build) => build?.collection ?? [])
    if (unfinished !== undefined) used.push(unfinished, stagedName(unfinished))
    for (const name of await readModels.listCollections()) {
      if (!name.startsWith(buildPrefix(this.projection.collection)) || used.includes(name)) continue
      this.#checkLease()
      await readModels.drop(name)
    }
  }

  async #cleanUpIfLost(task: TaskDocument, error: unknown): Promise<void> {
    if (!(error instanceof TaskLostError)) throw error
    await this.cleanUp(task)
  }

  async #end(task: TaskDocument, state: 'done' | 'failed', reason?: string): Promise<void> {
    this.#checkLease()
    await this.#available(() => this.dropUnused())
    await this.#available(() => this.tasks.end(task, state, reason === undefined ? {} : { reason }))
  }

  async #perform(task: TaskDocument): Promise<void> {
    const { pointer } = this.serving
    // An earlier holder died between the change of the pointer and the end of the task.
    if (pointer.document.lastRequestId === task.requestId) return
    if (task.what === 'verify' && !this.serving.isComparable())
      throw new TaskRejectedError('there is nothing to compare with: this version has not built anything from this log')
    const served = pointer.served.collection
    const build = await this.#open(task)
    await this.#available(() => passThroughLog(this.deps.store, build))
    await this.#available(() => build.complete())
    const isCompared = task.what === 'verify' || (task.what === 'rebuild' && this.serving.isComparable())
    if (isCompared) await this.#compare(task, build)
    else await this.#atServedPosition(build, () => this.#conclude(task, build))
    // Until then, some readers still use the build that was served before.
    if (pointer.served.collection !== served) await pause(pointerMaxAgeMs, this.lease.signal)
  }

  /** Returns the build that the task is about, at its progress so far. */
  #open(task: TaskDocument): Promise<Build> {
    const { built } = this.serving.pointer.document
    switch (task.what) {
      case 'rebuild':
        return this.#openNew(task)
      case 'verify':
        return built ? this.#openExisting(task, built) : this.#openNew(task)
      case 'switch':
        return this.#openExisting(task, built)
      case 'rollback':
        return this.#openExisting(task, this.serving.pointer.document.previous)
      default:
        throw new TaskRejectedError(`unknown task ${task.what satisfies never}`)
    }
  }

  async #openExisting(task: TaskDocument, build: ProjectionBuild | undefined): Promise<Build> {
    const isPresent = build && (await this.#available(() => isUsable(this.deps, this.projection.version, build)))
    if (!isPresent)
      throw new TaskRejectedError(
        task.what === 'rollback' ? 'no build from before the last switch is kept' : 'no build waits for a switch',
      )
    const { collection, progress } = build
    const target = new ServedDocuments(this.deps.readModels.collection(collection))
    return this.#start(task, { collection, target, progress, isNew: false })
  }

  /** Starts a build, or resumes the one that an earlier holder has left unfinished. */
  async #openNew(task: TaskDocument): Promise<Build> {
    const { readModels } = this.deps
    const { collection, version, indexes, isSortedBeforeWriting = false } = this.projection
    const name = buildName(collection, version, randomUUID().slice(0, 8))
    const unfinished = task.build
    const isResumed = unfinished && (await this.#available(() => isUsable(this.deps, version, unfinished)))
    if (isResumed) await this.#available(() => this.#takeOver(unfinished.collection, name))
    else {
      await this.#available(() => this.dropUnused())
      await this.#available(() => readModels.createUnfilled(name, indexes))
    }
    let build: Build | undefined
    const staging = new Staging(readModels, name, async () => build?.reportIfDue())
    const isCached = 'needs' in this.projection && !isSortedBeforeWriting
    const sorted = isSortedBeforeWriting ? staging : undefined
    const target = new BufferedDocuments(readModels.collection(name), isCached, sorted)
    const progress = isResumed ? unfinished.progress : {}
    build = await this.#start(task, { collection: name, target, progress, isNew: true })
    return build
  }

  /**
   * Gives an unfinished build a new name, so that a holder that has lost its lease without noticing cannot write into it. The build comes
   * first: after a crash in between, its old name is missing and it is started again, instead of resumed without its staged documents.
   */
  async #takeOver(from: string, to: string): Promise<void> {
    const { readModels } = this.deps
    const names = await readModels.listCollections()
    if (names.includes(from)) await readModels.rename(from, to)
    if (names.includes(stagedName(from))) await readModels.rename(stagedName(from), stagedName(to))
  }

  async #start(
    task: TaskDocument,
    options: Pick<BuildOptions, 'collection' | 'target' | 'progress'> & { readonly isNew: boolean },
  ): Promise<Build> {
    const { collection, progress, isNew } = options
    const { store, readModels } = this.deps
    const { projection, lease, serving } = this
    const limit = () => (serving.isComparable() ? resumePosition(serving.pointer.served.progress) : 'end')
    const end = limit() === 'end' ? await this.#available(() => endOfLog(store)) : undefined
    const started = { atMs: performance.now(), commit: commitOf(progress.position) }
    const onProgress = async (build: Build) => {
      const { durable, progress: reached } = build
      const limitNow = limit()
      const to = limitNow === 'end' ? end : limitNow
      const perMs = (commitOf(reached.position) - started.commit) / (performance.now() - started.atMs)
      await this.tasks.report(task, {
        eventsPerSecond: build.eventsPerSecond,
        ...(isNew && { build: { collection, version: projection.version, progress: durable } }),
        ...(isNew && durable.position !== progress.position && { interruptions: 0 }),
        ...(reached.position !== undefined && { reached: reached.position }),
        ...(to && { end: formatPosition(to) }),
        ...(to && perMs > 0 && { secondsLeft: secondsTo(Number(to.commit), commitOf(reached.position), perMs) }),
      })
    }
    const build = new Build({ ...options, readModels, projection, lease, limit, onProgress })
    await this.#available(() => this.tasks.report(task, { phase: 'building' }))
    await this.#available(() => onProgress(build))
    return build
  }

  /** Runs `work` with the build at exactly the position of the served one, while neither changes. */
  #atServedPosition(build: Build, work: () => Promise<void>): Promise<void> {
    return this.serving.exclusively(async () => {
      await this.#available(() => catchUp(this.deps.store, build))
      await this.#available(() => build.complete())
      await work()
    })
  }

  async #compare(task: TaskDocument, build: Build): Promise<void> {
    const { store, readModels, clock } = this.deps
    const { signal } = this.lease
    const { pointer } = this.serving
    await this.#available(() => this.tasks.report(task, { phase: 'comparing' }))
    const served = readModels.collection(pointer.served.collection)
    const built = readModels.collection(build.collection)
    const written = build.watchIds()
    // Documents that change during the comparison are compared again when nothing is written.
    const suspects = await this.#available(() => findDifferences(served, built, { signal }))
    await this.#available(() => catchUp(store, build))
    await this.#atServedPosition(build, async () => {
      const suspected = new Set([...suspects.ids, ...written])
      const differing = new Set(await this.#available(() => stillDiffering(served, built, suspected)))
      let { compared, next } = suspects
      while (next !== undefined && differing.size < maxNamed) {
        const more = await this.#available(() => findDifferences(served, built, { after: next, max: maxNamed, signal }))
        for (const id of more.ids) differing.add(id)
        compared += more.compared
        next = more.next
      }
      const position = pointer.served.progress.position ?? null
      const differences = [...differing].slice(0, maxNamed)
      await this.#conclude(task, build, { at: clock(), position, compared, differing: differing.size, differences })
    })
  }

  /** Changes the pointer, in one step, to what the task asks for. */
  async #conclude(task: TaskDocument, build: Build, comparison?: ComparisonDocument): Promise<void> {
    const { readModels, clock } = this.deps
    const { pointer } = this.serving
    const { served, built } = pointer.document
    const { collection, progress } = build
    const compared = comparison && { comparison }
    const finished = { collection, version: this.projection.version, progress, at: clock(), ...compared }
    const lastRequestId = task.requestId
    const isDifferent = comparison !== undefined && comparison.differing > 0
    if (task.what === 'verify' || (task.what === 'rebuild' && (task.keep || isDifferent))) {
      const reason = 'the build differs from the served documents, which stay in use'
      const isRejected = task.what === 'rebuild' && isDifferent
      await this.#available(() => this.tasks.report(task, { ...compared, ...(isRejected && { reason }) }))
      const isKept = task.what === 'rebuild' || built !== undefined
      if (isKept) await this.#available(() => pointer.save({ built: finished, lastRequestId }))
      return
    }
    await this.#available(() => this.tasks.report(task, { phase: 'switching', ...compared }))
    const hasDocuments = served.progress.position !== undefined
    const names = await this.#available(() => readModels.listCollections())
    this.#checkLease()
    const previous = hasDocuments && names.includes(served.collection) ? served : undefined
    const changes = { served: finished, previous, failure: undefined, lastRequestId }
    await this.#available(() => pointer.save(task.what === 'switch' ? { ...changes, built: undefined } : changes))
    this.serving.switched()
  }

  #checkLease(): void {
    if (this.lease.signal.aborted) throw new LeaseLostError(this.projection.name)
  }

  /** @throws LeaseLostError if the lease ends before a store is available again */
  async #available<Result>(work: () => Promise<Result>): Promise<Result> {
    let done: { readonly result: Result } | undefined
    await retryWhileUnavailable(async () => {
      done = { result: await work() }
    }, this.retry)
    if (!done) throw new LeaseLostError(this.projection.name)
    return done.result
  }
}

function secondsTo(end: number, at: number, perMs: number): number {
  return Math.max(0, Math.round((end - at) / perMs / 1_000))
}
