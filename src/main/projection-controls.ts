import type { UnreadableEventError } from '../event-store/event-codec.js'
import type { EventStore } from '../event-store/event-store.js'
import type { AskedOfProjection, ProjectionControls } from '../http/dashboard/operations/operations-routes.js'
import type { Clock } from '../kernel/clock.js'
import { violate } from '../kernel/rules.js'
import { allProjections } from '../projections/all-projections.js'
import { isStillOpen, openProblems } from '../projections/open-problems.js'
import { type ProjectionStatus, projectionStatus } from '../projections/projection-status.js'
import { ProjectionBusyError, ProjectionTasks } from '../projections/tasks/projection-tasks.js'
import type { ComparisonDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

/** The projections as the dashboard has them. */
export function createProjectionControls(
  stores: { readonly store: EventStore; readonly readModels: ReadModels },
  clock: Clock,
  /** What merchants and users are out of service for. */
  known: () => readonly UnreadableEventError[],
): ProjectionControls {
  const tasks = new ProjectionTasks(stores.readModels, clock)
  const ofOne = async (name: string, change: () => Promise<unknown>): Promise<AskedOfProjection> => {
    if (!allProjections.some((projection) => projection.name === name)) return 'unknown'
    try {
      await change()
      return 'done'
    } catch (error) {
      if (error instanceof ProjectionBusyError) return { conflict: error.violation }
      throw error
    }
  }
  const list = async () => (await projectionStatus(stores)).map(itemOf)
  return {
    list,
    ask: async (name, what, by, keep = false) => {
      const item = (await list()).find((each) => each.name === name)
      if (what === 'switch' && item?.built === null) return { conflict: violate('nothing-built') }
      if (what === 'rollback' && item?.previous === null) return { conflict: violate('nothing-kept') }
      return ofOne(name, () => tasks.request(name, { what, by, ...(keep && { keep }) }))
    },
    pause: (name, by, reason) => ofOne(name, () => tasks.pause(name, by, reason)),
    resume: (name) => ofOne(name, () => tasks.resume(name)),
    cancel: (name) =>
      ofOne(name, async () => {
        if (!(await tasks.cancel(name))) throw new ProjectionBusyError(violate('nothing-to-cancel'))
      }),
    async problems() {
      const [found, status] = [await openProblems(stores.readModels, known()), await projectionStatus(stores)]
      const open = []
      for (const problem of found) if (await isStillOpen(stores.store, problem)) open.push(problem)
      return open.map(({ stream, revision, reason }) => ({
        ...{ stream, revision, reason },
        stopped: status
          .filter(({ failure }) => failure?.stream === stream && failure.revision === revision)
          .map(nameOf),
      }))
    },
  }
}

type Item = Awaited<ReturnType<ProjectionControls['list']>>[number]

function itemOf(status: ProjectionStatus): Item {
  const { version: _1, collection: _2, failure, task, built, previous, actions, ...rest } = status
  return {
    ...rest,
    failure: failure && {
      stream: failure.stream ?? null,
      revision: failure.revision ?? null,
      ...{ reason: failure.reason, at: failure.at, command: failure.command },
    },
    task: task && taskOf(task),
    built: built && buildOf(built),
    previous: previous && buildOf(previous),
    actions: [...actions],
  }
}

function taskOf(task: NonNullable<ProjectionStatus['task']>): NonNullable<Item['task']> {
  const { what, state, phase, by, requestedAt, updatedAt, position, progress } = task
  const { end = null, eventsPerSecond = null, secondsLeft = null, comparison, reason = null } = task
  return {
    ...{ what, state, by, requestedAt, updatedAt, position, end, progress, eventsPerSecond, secondsLeft, reason },
    phase: state === 'running' ? (phase ?? null) : null,
    comparison: comparison ? comparisonOf(comparison) : null,
  }
}

function buildOf({ at, position, comparison }: NonNullable<ProjectionStatus['built']>): NonNullable<Item['built']> {
  return { at, position, comparison: comparison ? comparisonOf(comparison) : null }
}

function comparisonOf({ differences, ...rest }: ComparisonDocument) {
  return { ...rest, differences: [...differences] }
}

function nameOf({ name }: ProjectionStatus): string {
  return name
}
