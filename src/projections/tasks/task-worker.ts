import { endOfLog } from '../../event-store/end-of-log.js'
import { formatPosition, type Position } from '../../event-store/event-store.js'
import type { ComparisonDocument, Place, TaskDocument } from '../../read-models/documents.js'
import type { Lease } from '../../read-models/leases.js'
import { type RetryOptions, retryWhileUnavailable } from '../../subscriptions/retry.js'
import { type Checkpoint, commitOf, isOfThisLog, LeaseLostError, nowhere } from '../checkpoints.js'
import type { Projection, ProjectionDependencies } from '../projection.js'
import { Build, besideName, builtName, dropLeftovers, previousName, takeOver } from '../rebuild/build.js'
import { findDifferences, stillDiffering } from '../rebuild/compare.js'
import { catchUp, goThroughLog } from '../rebuild/pass.js'
import { type Tasks, TaskWithdrawnError } from './tasks.js'

const maxNamed = 20

/** The documents in use, as their runner has them. */
export interface Served {
  readonly checkpoint: Checkpoint
  /** They are of this version and of this log, so that what is built is compared with them, at their place. */
  areComparable(): boolean
  /** While nothing is written to them. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>
  /** What takes their place is of this version and log. */
  renewed(): void
}

interface Outcome {
  readonly comparison?: ComparisonDocument
  readonly reason?: string
}

class Refusal extends Error {}

/** Does what is asked of a projection, while its lease lasts. Everything it makes has a name of the lease's own until it is complete. */
export class TaskWorker {
  constructor(
    private readonly deps: ProjectionDependencies,
    private readonly projection: Projection,
    private readonly lease: Lease,
    private readonly retry: RetryOptions,
    private readonly tasks: Tasks,
    private readonly served: Served,
  ) {}

  /** @throws LeaseLostError; whatever else goes wrong is what the task ends with, and is handed back */
  async work(task: TaskDocument): Promise<unknown> {
    try {
      const outcome = await this.#do(task)
      if (this.lease.signal.aborted) throw new LeaseLostError(this.projection.name)
      await this.#end(task, 'done', outcome)
      return undefined
    } catch (error) {
      if (error instanceof LeaseLostError || this.lease.signal.aborted) throw new LeaseLostError(this.projection.name)
      if (error instanceof TaskWithdrawnError) await this.cleanUp(task)
      else await this.#fail(task, error)
      return error
    }
  }

  async #fail(task: TaskDocument, error: unknown): Promise<void> {
    await this.#putAway(task)
    try {
      await this.#end(task, 'failed', { reason: error instanceof Error ? error.message : String(error) })
    } catch (withdrawn) {
      if (!(withdrawn instanceof TaskWithdrawnError)) throw withdrawn
      await this.cleanUp(task)
    }
  }

  /** A cancelled task leaves nothing behind. @throws LeaseLostError */
  async cleanUp(task: TaskDocument): Promise<void> {
    const found = await this.#available(() => this.tasks.find(task._id))
    const isAnothers = found?.requestId === task.requestId && found.state === 'running'
    if (isAnothers) throw new LeaseLostError(this.projection.name)
    await this.#putAway(task)
    await this.#available(() => this.tasks.remove(task))
  }

  #do(task: TaskDocument): Promise<Outcome> {
    switch (task.what) {
      case 'rebuild':
      case 'verify':
        return this.#rebuild(task)
      case 'switch':
        return this.#switchToBuilt(task)
      case 'rollback':
        return this.#rollBack(task)
      default:
        throw new Refusal(`unknown task ${task.what satisfies never}`)
    }
  }

  async #rebuild(task: TaskDocument): Promise<Outcome> {
    const isVerified = task.what === 'verify'
    if (isVerified && !this.served.areComparable())
      throw new Refusal('there is nothing to compare with: nothing was built yet of this log by this version')
    const build = isVerified && this.#built ? await this.#takeBuilt(task) : await this.#begin(task)
    await this.#available(() => goThroughLog(this.deps.store, build))
    await this.#complete(build)
    if (!this.served.areComparable()) {
      if (task.keep) return await this.#keep(build, undefined)
      await this.served.exclusively(() => this.#switch(task, build))
      return {}
    }
    return await this.#compareAndGoOn(task, build)
  }

  async #compareAndGoOn(task: TaskDocument, build: Build): Promise<Outcome> {
    await this.tasks.report(task, { phase: 'comparing' })
    const [inUse, beside] = this.#collections(build)
    const touched = build.documents.watch()
    const { signal } = this.lease
    // Documents that are written meanwhile are looked at again when nothing is.
    const suspects = await this.#available(() => findDifferences(inUse, beside, { signal }))
    await this.#available(() => catchUp(this.deps.store, build))
    return this.served.exclusively(async () => {
      await this.#available(() => catchUp(this.deps.store, build))
      await this.#complete(build)
      const suspected = new Set([...suspects.ids, ...touched])
      const differing = new Set(await this.#available(() => stillDiffering(inUse, beside, suspected)))
      let { compared, next } = suspects
      while (next !== undefined && differing.size < maxNamed) {
        const more = await this.#available(() => findDifferences(inUse, beside, { after: next, max: maxNamed, signal }))
        for (const id of more.ids) differing.add(id)
        compared += more.compared
        next = more.next
      }
      build.checkHeld()
      return this.#afterComparison(task, build, this.#comparison(compared, differing))
    })
  }

  async #afterComparison(task: TaskDocument, build: Build, comparison: ComparisonDocument): Promise<Outcome> {
    if (task.what === 'verify') {
      if (this.#built) await this.#keep(build, comparison)
      else await this.#available(() => this.deps.readModels.drop(build.collection))
      return { comparison }
    }
    if (task.keep || comparison.differing > 0) return this.#keep(build, comparison)
    await this.#switch(task, build)
    return { comparison }
  }

  #comparison(compared: number, differing: ReadonlySet<string>): ComparisonDocument {
    const position = this.served.checkpoint.place.position ?? null
    const differences = [...differing].slice(0, maxNamed)
    return { at: this.deps.clock(), position, compared, differing: differing.size, differences }
  }

  async #switchToBuilt(task: TaskDocument): Promise<Outcome> {
    const build = await this.#takeBuilt(task)
    await this.#available(() => goThroughLog(this.deps.store, build))
    await this.#complete(build)
    await this.served.exclusively(async () => {
      await this.#available(() => catchUp(this.deps.store, build))
      await this.#complete(build)
      await this.#switch(task, build)
    })
    return {}
  }

  async #rollBack(task: TaskDocument): Promise<Outcome> {
    const { readModels, clock } = this.deps
    const { checkpoint } = this.served
    const previous = checkpoint.standby('previous')
    if (!previous || !(await this.#exists(previousName(this.projection))))
      throw new Refusal('nothing is kept of the time before the last switch')
    await this.served.exclusively(async () => {
      await this.tasks.report(task, { phase: 'switching' })
      const { version, position, lastEvent, lastEventAtMs } = previous
      const place: Place = {
        ...(position !== undefined && { position }),
        ...(lastEvent && { lastEvent }),
        lastEventAtMs,
      }
      // Both are at least there, whichever of them is in use when this is cut short.
      await checkpoint.setStandby('previous', { version, at: clock(), ...place })
      await checkpoint.moveTo(place)
      const name = previousName(this.projection)
      await this.#available(() => readModels.replace(name, this.projection.collection, name))
    })
    return {}
  }

  /** From nothing, or from where another has come to. */
  async #begin(task: TaskDocument): Promise<Build> {
    const { readModels } = this.deps
    const { beside } = task
    const goesOn = beside !== undefined && (await this.#canGoOn(beside))
    const own = besideName(this.projection, this.lease)
    if (goesOn && beside.collection !== own) await takeOver(readModels, beside.collection, own)
    if (!goesOn) {
      await dropLeftovers(readModels, this.projection)
      await readModels.createUnfilled(own, this.projection.indexes)
    }
    return this.#build(task, goesOn ? beside : nowhere)
  }

  async #canGoOn({ collection, version, ...place }: NonNullable<TaskDocument['beside']>): Promise<boolean> {
    if (version !== this.projection.version || place.position === undefined) return false
    return (await this.#exists(collection)) && (await isOfThisLog(this.deps.store, place))
  }

  /** What was built and waits. */
  async #takeBuilt(task: TaskDocument): Promise<Build> {
    const { readModels } = this.deps
    const own = besideName(this.projection, this.lease)
    const { beside } = task
    const found = beside && (await this.#exists(beside.collection)) ? beside : undefined
    const built = found ?? this.#built
    const from = found?.collection ?? builtName(this.projection)
    if (!built || !(await this.#exists(from))) throw new Refusal('nothing is built that could be switched to')
    const build = await this.#build(task, built)
    if (from !== own) await takeOver(readModels, from, own)
    return build
  }

  async #build(task: TaskDocument, from: Place & { readonly version?: number }): Promise<Build> {
    const { store, readModels } = this.deps
    const { projection, lease } = this
    const collection = besideName(projection, lease)
    const { position, lastEvent, lastEventAtMs } = from
    const place: Place = { ...(position !== undefined && { position }), ...(lastEvent && { lastEvent }), lastEventAtMs }
    const endOfAll = this.#limit() === 'end' ? await endOfLog(store) : undefined
    // What is in use may be on its way itself.
    const whereTo = () => endOfAll ?? this.served.checkpoint.position
    const toldEnd = () => {
      const end = whereTo()
      return end ? { end: formatPosition(end) } : {}
    }
    const began = { atMs: performance.now(), commit: commitOf(position) }
    const besideAt = (at: Place) => ({ ...at, collection, version: projection.version })
    await this.tasks.report(task, { phase: 'building', beside: besideAt(place), ...toldEnd() })
    return new Build({
      ...{ store, readModels, projection, lease, collection, place, limit: () => this.#limit() },
      onProgress: async ({ place: at, written, eventsPerSecond }) => {
        const end = whereTo()
        const secondsLeft = end && secondsTo(Number(end.commit), commitOf(at.position), began)
        const hasComeFurther = written.position !== place.position
        await this.tasks.report(task, {
          ...{ beside: besideAt(written), eventsPerSecond, ...toldEnd() },
          ...(at.position !== undefined && { reached: at.position }),
          ...(secondsLeft !== undefined && { secondsLeft }),
          ...(hasComeFurther && { interruptions: 0 }),
        })
      },
    })
  }

  #limit(): Position | 'end' | undefined {
    return this.served.areComparable() ? this.served.checkpoint.position : 'end'
  }

  async #complete(build: Build): Promise<void> {
    await this.#available(() => build.complete())
    build.checkHeld()
  }

  /** Until somebody switches to it. */
  async #keep(build: Build, comparison: ComparisonDocument | undefined): Promise<Outcome> {
    const { readModels, clock } = this.deps
    const { checkpoint } = this.served
    await checkpoint.setStandby('built', undefined)
    await this.#available(() => readModels.rename(build.collection, builtName(this.projection)))
    const { version } = this.projection
    await checkpoint.setStandby('built', { version, at: clock(), ...build.place, ...(comparison && { comparison }) })
    if (!comparison || comparison.differing === 0) return { ...(comparison && { comparison }) }
    return { comparison, reason: 'what was built is not the same as what is in use, which stays in use' }
  }

  /** While nobody else writes the documents in use. */
  async #switch(task: TaskDocument, build: Build): Promise<void> {
    const { readModels, clock } = this.deps
    const { checkpoint } = this.served
    const { collection, version } = this.projection
    await this.tasks.report(task, { phase: 'switching' })
    // The record first: it must never tell of other documents than there are.
    await checkpoint.setStandby('previous', undefined)
    await this.#available(() => readModels.drop(previousName(this.projection)))
    build.checkHeld()
    if (this.served.areComparable()) {
      await checkpoint.setStandby('previous', { version, at: clock(), ...checkpoint.place })
      await this.#available(() => readModels.replace(build.collection, collection, previousName(this.projection)))
    } else {
      // Only when the log itself was put back to an earlier state.
      if (commitOf(build.place.position) < commitOf(checkpoint.place.position)) await checkpoint.rewind(build.place)
      await this.#available(() => readModels.rename(build.collection, collection))
    }
    await checkpoint.moveTo(build.place)
    if (task.what === 'switch') await checkpoint.setStandby('built', undefined)
    this.served.renewed()
  }

  /** What was built before stays built. */
  async #putAway(task: TaskDocument): Promise<void> {
    const { readModels } = this.deps
    const own = besideName(this.projection, this.lease)
    const there = await this.#available(() => readModels.listCollections())
    const from = [own, task.beside?.collection].find((name) => name !== undefined && there.includes(name))
    if (from !== undefined && this.#built && task.what !== 'rebuild')
      await this.#available(() => readModels.rename(from, builtName(this.projection)))
    await this.#available(() => dropLeftovers(readModels, this.projection))
  }

  get #built() {
    return this.served.checkpoint.standby('built')
  }

  #collections(build: Build) {
    const { readModels } = this.deps
    return [readModels.collection(this.projection.collection), readModels.collection(build.collection)] as const
  }

  async #exists(collection: string): Promise<boolean> {
    return (await this.deps.readModels.listCollections()).includes(collection)
  }

  #end(task: TaskDocument, state: 'done' | 'failed', outcome: Outcome): Promise<void> {
    return this.#available(() => this.tasks.end(task, state, outcome))
  }

  /** @throws LeaseLostError when the lease ends before a store is available again */
  async #available<Result>(work: () => Promise<Result>): Promise<Result> {
    let done: { readonly result: Result } | undefined
    await retryWhileUnavailable(async () => {
      done = { result: await work() }
    }, this.retry)
    if (!done) throw new LeaseLostError(this.projection.name)
    return done.result
  }
}

function secondsTo(
  end: number,
  at: number,
  began: { readonly atMs: number; readonly commit: number },
): number | undefined {
  const perMs = (at - began.commit) / (performance.now() - began.atMs)
  return perMs > 0 ? Math.max(0, Math.round((end - at) / perMs / 1_000)) : undefined
}
