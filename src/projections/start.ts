import { runWithLease } from '../read-models/leases.js'
import { pause } from '../subscriptions/retry.js'
import { allProjections } from './all.js'
import type { Projection } from './projection.js'
import { ProjectionRunner, type RunnerDependencies } from './runner.js'

/** One holder at any time, in whichever process. */
export function leaseName(projection: Projection): string {
  return `projection:${projection.name}`
}

/** How soon a projection that ended unexpectedly begins again. */
const restartAfterMs = 5_000

/** Runs every projection that no other process runs, until it is stopped. */
export function startProjections(
  deps: RunnerDependencies,
  projections: readonly Projection[] = allProjections,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const ended = projections.map((projection) => runAgain(deps, projection, signal))
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(ended)
    },
  }
}

async function runAgain(deps: RunnerDependencies, projection: Projection, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await runWithLease(deps.readModels, leaseName(projection), { signal }, (lease) =>
        new ProjectionRunner(deps, projection, lease).run(),
      )
    } catch (error) {
      deps.logger.error({ err: error, projection: projection.name }, 'the projection ended; it begins again')
      await pause(restartAfterMs, signal)
    }
  }
}
