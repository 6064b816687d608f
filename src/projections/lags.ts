import type { Clock } from '../commands/handle-command.js'
import { projectionStatus } from './status.js'

/** Of each projection whether events wait for it, and since when it may be behind. @throws StoreUnavailableError, ReadModelsUnavailableError */
export async function projectionLags(stores: Parameters<typeof projectionStatus>[0], clock: Clock) {
  return (await projectionStatus(stores)).map(({ name, state, lastEventAt }) => {
    if (state === 'current') return { name, behind: false, lagMs: 0 }
    const lagMs = lastEventAt === null ? null : Math.max(0, Date.parse(clock()) - Date.parse(lastEventAt))
    return { name, behind: true, lagMs }
  })
}
