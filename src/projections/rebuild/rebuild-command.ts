import type { RebuildDocument } from '../../read-models/documents.js'
import { runWithLease } from '../../read-models/leases.js'
import { pause } from '../../subscriptions/retry.js'
import { allProjections } from '../all.js'
import type { Projection } from '../projection.js'
import { ProjectionRunner, type RunnerDependencies } from '../runner.js'
import { leaseName } from '../start.js'
import { RebuildRequests } from './rebuild-requests.js'

const lookEveryMs = 100

export interface RebuildProgress {
  readonly state: RebuildDocument['state']
  /** What the new documents have come to, and the end of the log as it began; as `formatPosition` prints them. */
  readonly position?: string
  readonly end?: string
  /** Why it failed. */
  readonly reason?: string
}

export class UnknownProjectionError extends Error {
  override readonly name = 'UnknownProjectionError'
}

/**
 * Rebuilds a projection and tells how it goes, `done` or `failed` last. The process that holds the projection does it; where
 * there is none, or it dies meanwhile, this one does. Stop listening by aborting the signal: a running service then still
 * finishes. @throws UnknownProjectionError, StoreUnavailableError, ReadModelsUnavailableError
 */
export async function* rebuildProjection(
  deps: RunnerDependencies,
  name: string,
  signal: AbortSignal,
  projections: readonly Projection[] = allProjections,
): AsyncGenerator<RebuildProgress> {
  const projection = projections.find((candidate) => candidate.name === name)
  if (!projection) {
    throw new UnknownProjectionError(
      `there is no projection ${name}; there are ${projections.map((p) => p.name).join(', ')}`,
    )
  }
  const requests = new RebuildRequests(deps.readModels, deps.clock)
  const request = await requests.put(name)
  const stopping = new AbortController()
  const lease = { signal: AbortSignal.any([signal, stopping.signal]) }
  let failure: { readonly error: unknown } | undefined
  const standIn = runWithLease(deps.readModels, leaseName(projection), lease, async (held) => {
    await new ProjectionRunner(deps, projection, held).rebuildOnly(request)
  }).catch((error) => {
    failure = { error }
  })
  try {
    let told = ''
    while (!signal.aborted) {
      if (failure) throw failure.error
      const progress = progressOf(await requests.find(name), request)
      const text = JSON.stringify(progress)
      if (text !== told) yield progress
      told = text
      if (progress.state === 'done' || progress.state === 'failed') return
      await pause(lookEveryMs, signal)
    }
  } finally {
    stopping.abort()
    await standIn
  }
}

function progressOf(found: RebuildDocument | null, { requestId }: RebuildDocument): RebuildProgress {
  if (found?.requestId !== requestId) return { state: 'failed', reason: 'another request has replaced this one' }
  const { state, position, end, reason } = found
  return {
    state,
    ...(position !== undefined && { position }),
    ...(end !== undefined && { end }),
    ...(reason !== undefined && { reason }),
  }
}
