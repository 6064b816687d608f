import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Clock } from '../kernel/time.js'
import { heartbeatEveryMs, OwnNode } from '../read-models/nodes.js'
import { type ReadModels, ReadModelsUnavailableError } from '../read-models/read-models.js'
import { version } from './version.js'

type HeartbeatParts = { readonly readModels: ReadModels; readonly clock: Clock; readonly logger: Logger }

/** Lists this process among the nodes, with a heartbeat every ten seconds until it stops. */
export function startHeartbeat({ readModels, clock, logger }: HeartbeatParts, roles: readonly string[]) {
  const stopping = new AbortController()
  const node = new OwnNode(readModels, { version, roles, startedAt: clock() })
  const succeeds = async (write: () => Promise<void>) => {
    try {
      await write()
      return true
    } catch (error) {
      // Lists and the doctor already report an unavailable store.
      if (!(error instanceof ReadModelsUnavailableError)) logger.error({ err: error }, 'heartbeat failed')
      return false
    }
  }
  const run = async () => {
    let isListed = false
    while (!stopping.signal.aborted) {
      isListed = await succeeds(() => (isListed ? node.heartbeat(clock()) : node.start(clock())))
      await sleep(heartbeatEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
    await succeeds(() => node.end())
  }
  const ended = run()
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
