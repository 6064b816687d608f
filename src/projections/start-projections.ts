import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import { allProjections } from './all-projections.js'
import type { Projection } from './projection.js'
import { ProjectionRunner, type RunnerDependencies } from './projection-runner.js'

/** Returns the name of the lease that one process at a time holds to run the projection. */
export function leaseName(projection: Projection): string {
  return `projection:${projection.name}`
}

/** Runs every projection that no other process runs, until it is stopped. */
export function startProjections(deps: RunnerDependencies, projections: readonly Projection[] = allProjections): Part {
  const parts = projections.map((projection) =>
    startUnderLease(deps, leaseName(projection), (lease) => new ProjectionRunner(deps, projection, lease).run()),
  )
  return {
    async stop() {
      await Promise.all(parts.map((part) => part.stop()))
    },
  }
}
