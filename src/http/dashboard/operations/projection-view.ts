import type { FastifyRequest } from 'fastify'
import type { ProjectionStatus } from '../../../projections/projection-status.js'
import type { ComparisonDocument } from '../../../read-models/documents.js'
import { actorNames, withNamedActors } from '../session-guard.js'

/** Returns a projection as the API shows it. */
export function viewOfProjection(request: FastifyRequest, projection: ProjectionStatus) {
  const { version: _v, collection: _c, failure, task, paused, built, previous, ...status } = projection
  const nameOf = actorNames(request)
  return {
    ...status,
    paused: paused && withNamedActors(paused, nameOf),
    failure: failure && {
      stream: failure.stream ?? null,
      revision: failure.revision ?? null,
      reason: failure.reason,
      at: failure.at,
      command: failure.command,
    },
    task: task && withNamedActors(viewOfTask(task), nameOf),
    built: built && viewOfVersion(built),
    previous: previous && viewOfVersion(previous),
  }
}

function viewOfTask(task: NonNullable<ProjectionStatus['task']>) {
  return {
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
    comparison: viewOfComparison(task),
    reason: task.reason ?? null,
  }
}

function viewOfVersion(build: NonNullable<ProjectionStatus['built']>) {
  return { at: build.at, position: build.position, comparison: viewOfComparison(build) }
}

function viewOfComparison({ comparison }: { readonly comparison?: ComparisonDocument }) {
  return comparison ? { ...comparison, differences: [...comparison.differences] } : null
}
