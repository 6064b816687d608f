import { type Violation, violate } from '../domain/rules.js'
import type { UnreadableEventError } from '../event-store/event-codec.js'
import type { EventStore } from '../event-store/event-store.js'
import type { Clock } from '../kernel/time.js'
import { allProjections } from '../projections/all-projections.js'
import { type ProjectionStatus, projectionStatus } from '../projections/projection-status.js'
import { ProjectionBusyError, ProjectionTasks } from '../projections/projection-tasks.js'
import type { ComparisonDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { isStillOpen, openProblems } from './event-problems.js'

type TaskKind = 'rebuild' | 'verify' | 'switch' | 'rollback'
type RequestOutcome = 'done' | 'unknown' | { readonly conflict: Violation }

/** The projections as the dashboard shows and controls them. The nodes that run them carry out the requests. */
export class ProjectionControls {
  readonly #tasks: ProjectionTasks

  constructor(
    private readonly stores: { readonly store: EventStore; readonly readModels: ReadModels },
    clock: Clock,
    /** The events because of which merchants and users are unavailable. */
    private readonly unreadableEvents: () => readonly UnreadableEventError[],
  ) {
    this.#tasks = new ProjectionTasks(stores.readModels, clock)
  }

  async list() {
    return (await projectionStatus(this.stores)).map(itemOf)
  }

  async request(name: string, what: TaskKind, by: string, keep = false): Promise<RequestOutcome> {
    const item = (await this.list()).find((each) => each.name === name)
    if (what === 'switch' && item?.built === null) return { conflict: violate('nothing-built') }
    if (what === 'rollback' && item?.previous === null) return { conflict: violate('nothing-kept') }
    return this.#change(name, () => this.#tasks.request(name, { what, by, ...(keep && { keep }) }))
  }

  pause(name: string, by: string, reason: string | null): Promise<RequestOutcome> {
    return this.#change(name, () => this.#tasks.pause(name, by, reason))
  }

  resume(name: string): Promise<RequestOutcome> {
    return this.#change(name, () => this.#tasks.resume(name))
  }

  cancel(name: string): Promise<RequestOutcome> {
    return this.#change(name, async () => {
      if (!(await this.#tasks.cancel(name))) throw new ProjectionBusyError(violate('nothing-to-cancel'))
    })
  }

  /** Returns the unreadable events that no operator has skipped. */
  async problems() {
    const found = await openProblems(this.stores.readModels, this.unreadableEvents())
    const status = await projectionStatus(this.stores)
    const open = []
    for (const problem of found) if (await isStillOpen(this.stores.store, problem)) open.push(problem)
    return open.map(({ stream, revision, reason }) => ({
      stream,
      revision,
      reason,
      stopped: status
        .filter(({ failure }) => failure?.stream === stream && failure.revision === revision)
        .map(({ name }) => name),
    }))
  }

  async #change(name: string, change: () => Promise<unknown>): Promise<RequestOutcome> {
    if (!allProjections.some((projection) => projection.name === name)) return 'unknown'
    try {
      await change()
      return 'done'
    } catch (error) {
      if (error instanceof ProjectionBusyError) return { conflict: error.violation }
      throw error
    }
  }
}

/** Returns a status as the API shows it. */
function itemOf({ version: _v, collection: _c, failure, task, built, previous, ...status }: ProjectionStatus) {
  return {
    ...status,
    failure: failure && {
      stream: failure.stream ?? null,
      revision: failure.revision ?? null,
      reason: failure.reason,
      at: failure.at,
      command: failure.command,
    },
    task: task && {
      what: task.what,
      state: task.state,
      by: task.by,
      requestedAt: task.requestedAt,
      updatedAt: task.updatedAt,
      phase: task.state === 'running' ? (task.phase ?? null) : null,
      position: task.position,
      progress: task.progress,
      end: task.end ?? null,
      eventsPerSecond: task.eventsPerSecond ?? null,
      secondsLeft: task.secondsLeft ?? null,
      comparison: comparisonOf(task),
      reason: task.reason ?? null,
    },
    built: built && versionOf(built),
    previous: previous && versionOf(previous),
  }
}

function versionOf(build: NonNullable<ProjectionStatus['built']>) {
  return { at: build.at, position: build.position, comparison: comparisonOf(build) }
}

function comparisonOf({ comparison }: { readonly comparison?: ComparisonDocument }) {
  return comparison ? { ...comparison, differences: [...comparison.differences] } : null
}
