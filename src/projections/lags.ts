import type { Clock } from '../kernel/clock.js'
import { projectionStatus } from './projection-status.js'

/** Of each projection whether it is behind, and how long the first event that waits for it has waited. @throws StoreUnavailableError, ReadModelsUnavailableError */
export async function projectionLags(stores: Parameters<typeof projectionStatus>[0], clock: Clock) {
  return (await projectionStatus(stores)).map(({ name, state, waitingSince }) => {
    if (state === 'current') return { name, behind: false, lagMs: 0 }
    const lagMs = waitingSince === null ? null : Math.max(0, Date.parse(clock()) - Date.parse(waitingSince))
    return { name, behind: true, lagMs }
  })
}
