import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { version } from '../operations/version.js'
import { OwnNode, signEveryMs } from '../read-models/nodes.js'
import { type ReadModels, ReadModelsUnavailableError } from '../read-models/read-models.js'

export interface SignDependencies {
  readonly readModels: ReadModels
  readonly clock: () => string
  readonly logger: Logger
}

/** Tells every ten seconds, in the read models, that this process lives. */
export function startSigns({ readModels, clock, logger }: SignDependencies, roles: readonly string[]) {
  const stopping = new AbortController()
  const node = new OwnNode(readModels, { version, roles, startedAt: clock() })
  const told = async (tell: () => Promise<void>) => {
    try {
      await tell()
      return true
    } catch (error) {
      // Lists and the doctor say that the store is away: a line for each missed sign would say it again.
      if (!(error instanceof ReadModelsUnavailableError)) logger.error({ err: error }, 'no sign of life')
      return false
    }
  }
  const run = async () => {
    let begun = false
    while (!stopping.signal.aborted) {
      begun = await told(() => (begun ? node.sign(clock()) : node.begin(clock())))
      await sleep(signEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
    await told(() => node.end())
  }
  const ended = run()
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
