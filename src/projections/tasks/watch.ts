import type { TaskDocument } from '../../read-models/documents.js'
import { pause } from '../../subscriptions/retry.js'
import { allProjections } from '../all.js'
import type { Projection } from '../projection.js'
import type { RunnerDependencies } from '../runner.js'
import { startProjections } from '../start.js'
import { isUnfinished, Tasks } from './tasks.js'

const lookEveryMs = 100

export class UnknownProjectionError extends Error {
  override readonly name = 'UnknownProjectionError'
}

/** @throws UnknownProjectionError */
export function projectionNamed(name: string, projections: readonly Projection[] = allProjections): Projection {
  const found = projections.find((projection) => projection.name === name)
  if (found) return found
  const names = projections.map((projection) => projection.name).join(', ')
  throw new UnknownProjectionError(`there is no projection ${name}; there are ${names}`)
}

/** How far a task is; null when it was cancelled, or another has replaced it. */
export type Watched = ReadonlyMap<string, TaskDocument | null>

/**
 * Tells how tasks go until all have ended. The process that holds a projection works on its task; where there is none, or it dies meanwhile,
 * this one does. Whoever stops listening by the signal has the others go on. @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function* watchTasks(
  deps: RunnerDependencies,
  asked: readonly TaskDocument[],
  signal: AbortSignal,
  projections: readonly Projection[] = allProjections,
): AsyncGenerator<Watched> {
  const tasks = new Tasks(deps.readModels, deps.clock)
  const standIn = startProjections(
    deps,
    projections.filter(({ name }) => asked.some(({ _id }) => _id === name)),
  )
  try {
    let told = ''
    while (!signal.aborted) {
      const found = await Promise.all(asked.map(({ _id }) => tasks.find(_id)))
      const watched = new Map(
        asked.map(({ _id, requestId }, n) => [_id, found[n]?.requestId === requestId ? found[n]! : null] as const),
      )
      const text = JSON.stringify([...watched.values()])
      if (text !== told) yield watched
      told = text
      if (![...watched.values()].some(isUnfinished)) return
      await pause(lookEveryMs, signal)
    }
  } finally {
    await standIn.stop()
  }
}
