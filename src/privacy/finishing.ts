import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { pause } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import { finishErasures, type PrivacyParts } from './erasure.js'

const everyMs = 600_000

/** Finishes, at the start and now and then, the erasures that a crash or an unavailable store left halfway. */
export function startFinishingErasures(deps: PrivacyParts & { readonly logger: Logger }): Part {
  return startUnderLease(deps, 'privacy:erasures', async ({ signal }) => {
    while (!signal.aborted) {
      const id = randomUUID()
      const context = { actor: 'system:privacy', $correlationId: id, $causationId: id }
      const finished = await finishErasures(deps, context)
      if (finished > 0) deps.logger.info({ finished }, 'erasures were finished')
      await pause(everyMs, signal)
    }
  })
}
