import { pause } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import { allProjections } from './all-projections.js'
import type { Projection } from './projection.js'
import { ProjectionRunner, type RunnerDependencies } from './projection-runner.js'
import { isUnfinished, leaseName, type ProjectionTask, ProjectionTasks } from './projection-tasks.js'

const progressPollMs = 100

/** Runs every projection that no other process runs, until it is stopped. */
export function startProjections(deps: RunnerDependencies, projections: readonly Projection[] = allProjections): Part {
  const parts = projections.map((projection) =>
    startUnderLease(deps, leaseName(projection), (lease) => new ProjectionRunner(deps, projection, lease).run()),
  )
  return {
    ends: () => parts.flatMap((part) => part.ends()),
    async stop() {
      await Promise.all(parts.map((part) => part.stop()))
    },
  }
}

/** The requested tasks by projection; `null` for a task that was cancelled or that another one has replaced. */
type WatchedTasks = ReadonlyMap<string, ProjectionTask | null>

/**
 * Yields the tasks whenever one of them changes, until all have ended. The process that holds the lease of a projection performs its task.
 * If none does, or if it dies, this process performs it. Aborting the signal ends only the watching.
 * @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function* watchTasks(
  deps: RunnerDependencies,
  requested: readonly ProjectionTask[],
  signal: AbortSignal,
  projections: readonly Projection[] = allProjections,
): AsyncGenerator<WatchedTasks> {
  const tasks = new ProjectionTasks(deps.readModels, deps.clock)
  const named = projections.filter(({ name }) => requested.some(({ projection }) => projection === name))
  const ownProjections = startProjections(deps, named)
  try {
    let yielded = ''
    while (!signal.aborted) {
      const watched = new Map<string, ProjectionTask | null>()
      for (const { projection, requestId } of requested) {
        const found = await tasks.find(projection)
        watched.set(projection, found?.requestId === requestId ? found : null)
      }
      const text = JSON.stringify([...watched.values()])
      if (text !== yielded) yield watched
      yielded = text
      if (![...watched.values()].some(isUnfinished)) return
      await pause(progressPollMs, signal)
    }
  } finally {
    await ownProjections.stop()
  }
}
