import { endOfLog, formatPosition } from '../../event-store/event-store.js'
import type { ComparisonDocument, ProjectionBuild, TaskRecord } from '../../read-models/documents.js'
import { findDifferences, stillDiffering } from '../../read-models/find-differences.js'
import { ServedDocuments } from '../../read-models/find-documents.js'
import { buildName, buildPrefix } from '../../read-models/read-models-adapter.js'
import { type RetryOptions, retryWhileUnavailable } from '../../subscriptions/retry.js'
import type { Projection, ProjectionDependencies } from '../projection.js'
import {
  commitOf,
  isUsable,
  type PointerChanges,
  type ProjectionPointer,
  resumePosition,
} from '../projection-pointer.js'
import { Build, type BuildOptions } from './build.js'
import { BufferedDocuments } from './build-documents.js'
import { catchUp, passThroughLog } from './log-pass.js'

const maxNamed = 20

export interface Serving {
  readonly deps: ProjectionDependencies
  readonly projection: Projection
  readonly pointer: ProjectionPointer
  /** Whether the served build has this version and is of this log. Only then a new build is compared with it, at its position. */
  isComparable(): boolean
  /** Runs `work` while nothing is written to the served build. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>
  /** Aborts the task's signal if its request has been deleted. */
  checkCancelled(): Promise<void>
  /** To be called after a build of this version and log is served. */
  switched(): void
}

/** Performs one task. The caller records its errors, such as that of an aborted signal. */
export class TaskWorker {
  constructor(
    private readonly serving: Serving,
    private record: TaskRecord,
    private readonly retry: RetryOptions,
  ) {}

  /** Ends after the pointer is changed. */
  async perform(): Promise<void> {
    const { what } = this.record
    if (what === 'verify' && !this.serving.isComparable())
      throw new Error('there is nothing to compare with: this version has not built anything from this log')
    const build = await this.#open()
    await this.#available(() => passThroughLog(this.serving.deps.store, build))
    // The last documents are written and the indexes created, which takes minutes on a large log.
    await this.#available(() => this.#report({ phase: 'merging' }))
    await this.#available(() => build.complete())
    if (what === 'verify' || (what === 'rebuild' && this.serving.isComparable())) await this.#compare(build)
    else await this.#atServedPosition(build, () => this.#conclude(build))
  }

  #open(): Promise<Build> {
    const { built, previous } = this.serving.pointer.document
    switch (this.record.what) {
      case 'rebuild':
        return this.#openNew()
      case 'verify':
        return built ? this.#openExisting(built) : this.#openNew()
      case 'switch':
        return this.#openExisting(built)
      case 'rollback':
        return this.#openExisting(previous)
      default:
        throw new Error(`unknown task ${this.record.what satisfies never}`)
    }
  }

  async #openExisting(build: ProjectionBuild | undefined): Promise<Build> {
    if (!build || !(await this.#isUsable(build))) {
      const isRollback = this.record.what === 'rollback'
      throw new Error(isRollback ? 'no build from before the last switch is kept' : 'no build waits for a switch')
    }
    const { collection, progress } = build
    const target = new ServedDocuments(this.serving.deps.readModels.collection(collection))
    return this.#start({ collection, target, progress }, false)
  }

  /** Starts a build, or resumes the one that an earlier holder has left unfinished. */
  async #openNew(): Promise<Build> {
    const { readModels } = this.serving.deps
    const { version, indexes } = this.serving.projection
    const collection = buildName(this.serving.projection.collection, version)
    const unfinished = this.record.build
    const resumed = unfinished && (await this.#isUsable(unfinished)) ? unfinished : undefined
    if (resumed) await this.#available(() => this.#takeOver(resumed.collection, collection))
    else await this.#available(() => readModels.createUnfilled(collection, indexes))
    const isCached = 'needs' in this.serving.projection
    const target = new BufferedDocuments(readModels.collection(collection), isCached)
    return this.#start({ collection, target, progress: resumed?.progress ?? {} }, true)
  }

  #isUsable(build: Pick<ProjectionBuild, 'collection' | 'version' | 'progress'>): Promise<boolean> {
    return this.#available(() => isUsable(this.serving.deps, this.serving.projection.version, build))
  }

  /**
   * Gives an unfinished build a new name, so that a holder that has lost its lease without noticing cannot write into it.
   */
  async #takeOver(from: string, to: string): Promise<void> {
    const { readModels } = this.serving.deps
    const names = await readModels.listCollections()
    if (names.includes(from)) await readModels.rename(from, to)
  }

  async #start(parts: Pick<BuildOptions, 'collection' | 'target' | 'progress'>, isNew: boolean): Promise<Build> {
    const { store, readModels } = this.serving.deps
    const { collection, progress } = parts
    const { serving } = this
    const { projection } = serving
    const limit = () => (serving.isComparable() ? resumePosition(serving.pointer.document.served.progress) : 'end')
    const end = limit() === 'end' ? await this.#available(() => endOfLog(store)) : undefined
    const started = { atMs: performance.now(), commit: commitOf(progress.position) }
    const onProgress = async ({ durable, progress: { position: reached }, eventsPerSecond }: Build) => {
      const limitNow = limit()
      const to = limitNow === 'end' ? end : limitNow
      const perMs = (commitOf(reached) - started.commit) / (performance.now() - started.atMs)
      const msLeft = to && perMs > 0 && (Number(to.commit) - commitOf(reached)) / perMs
      await this.#report({
        eventsPerSecond,
        ...(isNew && { build: { collection, version: projection.version, progress: durable } }),
        ...(isNew && durable.position !== progress.position && { interruptions: 0 }),
        ...(reached !== undefined && { reached }),
        ...(to && { end: formatPosition(to) }),
        ...(msLeft && { secondsLeft: Math.max(0, Math.round(msLeft / 1_000)) }),
      })
    }
    const build = new Build({ ...parts, readModels, projection, signal: this.retry.signal, limit, onProgress })
    await this.#available(() => this.#report({ phase: 'building' }))
    await this.#available(() => onProgress(build))
    return build
  }

  /** Runs `work` with the build at exactly the position of the served one, while neither changes. */
  #atServedPosition(build: Build, work: () => Promise<void>): Promise<void> {
    return this.serving.exclusively(async () => {
      await this.#available(() => catchUp(this.serving.deps.store, build))
      await this.#available(() => build.complete())
      await work()
    })
  }

  async #compare(build: Build): Promise<void> {
    const { store, readModels, clock } = this.serving.deps
    const { signal } = this.retry
    const { pointer } = this.serving
    await this.#available(() => this.#report({ phase: 'comparing' }))
    const served = readModels.collection(pointer.document.served.collection)
    const built = readModels.collection(build.options.collection)
    const written = new Set<string>()
    build.written = written
    // Documents that change during the comparison are compared again when nothing is written.
    const suspects = await this.#available(() => findDifferences(served, built, signal))
    await this.#available(() => catchUp(store, build))
    await this.#atServedPosition(build, async () => {
      const suspected = new Set([...suspects.ids, ...written])
      const differing = new Set(await this.#available(() => stillDiffering(served, built, suspected)))
      let { compared, next } = suspects
      while (next !== undefined && differing.size < maxNamed) {
        const more = await this.#available(() => findDifferences(served, built, signal, next, maxNamed))
        for (const id of more.ids) differing.add(id)
        compared += more.compared
        next = more.next
      }
      const position = pointer.document.served.progress.position ?? null
      const differences = [...differing].slice(0, maxNamed)
      await this.#conclude(build, { at: clock(), position, compared, differing: differing.size, differences })
    })
  }

  /** Changes the pointer, in one step, as the task requests. */
  async #conclude({ options, progress }: Build, comparison?: ComparisonDocument): Promise<void> {
    const { collection } = options
    const { what, keep } = this.record
    const { version } = this.serving.projection
    const { served, built } = this.serving.pointer.document
    const compared = comparison && { comparison }
    const finished = { collection, version, progress, at: this.serving.deps.clock(), ...compared }
    const isDifferent = comparison !== undefined && comparison.differing > 0
    if (what === 'verify') return this.#save({ built: built && finished }, { ...compared })
    if (what === 'rebuild' && (keep || isDifferent)) {
      const reason = 'the build differs from the served documents, which stay in use'
      return this.#save({ built: finished }, { ...compared, ...(isDifferent && { reason }) })
    }
    await this.#available(() => this.#report({ phase: 'switching' }))
    const names = await this.#available(() => this.serving.deps.readModels.listCollections())
    const isKept = served.progress.position !== undefined && names.includes(served.collection)
    const switched = { served: finished, previous: isKept ? served : undefined, failure: undefined }
    await this.#save({ ...switched, ...(what === 'switch' && { built: undefined }) }, { ...compared })
    this.serving.switched()
  }

  /** From here on, the task can no longer be cancelled. */
  async #save(changes: PointerChanges, outcome: Pick<TaskRecord, 'comparison' | 'reason'>): Promise<void> {
    const { pointer } = this.serving
    await this.#available(() => this.serving.checkCancelled())
    this.retry.signal.throwIfAborted()
    const task: TaskRecord = { ...this.record, ...outcome, isConcluded: true }
    await this.#available(() => pointer.save({ ...changes, task })).catch((error) => {
      // A task that is cancelled during this write is done if the write succeeded.
      if (!pointer.document.task?.isConcluded) throw error
    })
  }

  async #report(report: Partial<TaskRecord>): Promise<void> {
    this.record = { ...this.record, ...report, updatedAt: this.serving.deps.clock() }
    await this.serving.pointer.save({ task: this.record })
  }

  /** Waits for an unavailable store. @throws the reason of the aborted signal */
  async #available<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = await retryWhileUnavailable(async () => ({ result: await work() }), this.retry)
    if (!done) throw this.retry.signal.reason
    return done.result
  }
}

/** Drops the builds that the pointer does not name. @throws LeaseLostError */
export async function dropUnusedBuilds({ deps, projection, pointer }: Serving, keepsUnfinished = false): Promise<void> {
  const { readModels } = deps
  const { served, built, previous, task } = (await pointer.load())!
  const used = [served, built, previous].flatMap((build) => build?.collection ?? [])
  const unfinished = keepsUnfinished ? task?.build?.collection : undefined
  if (unfinished !== undefined) used.push(unfinished)
  for (const name of await readModels.listCollections()) {
    if (!name.startsWith(buildPrefix(projection.collection)) || used.includes(name)) continue
    // A holder that has lost its lease must not drop the builds of its successor.
    await pointer.load()
    await readModels.drop(name)
  }
}
