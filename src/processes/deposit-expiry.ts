import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import { StoreUnavailableError } from '../event-store/event-store.js'
import type { Clock } from '../kernel/time.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { pause, retryWhileUnavailable } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'

const tickMs = 1_000
const pageSize = 200
/** Concurrent cancellations share a commit. */
const concurrency = 50
/** A deposit that is still listed after an attempt is one that the read model shows late, so an earlier retry would change nothing. */
const retryAfterMs = 30_000
const maxTried = 2_000

interface Dependencies {
  readonly readModels: ReadModels
  readonly transfers: Pick<TransferCommands, 'expire'>
  readonly clock: Clock
  readonly logger: Logger
}

/** Cancels expired deposits, in one process at a time, until it is stopped. */
export function startExpiry(deps: Dependencies): Part {
  const { readModels, transfers, clock, logger } = deps
  return startUnderLease(deps, 'expiry', async ({ signal }, retry) => {
    /** The time after which each deposit can be tried again, in milliseconds of the monotonic clock. */
    const tried = new Map<string, number>()

    const expire = async (trackingId: string): Promise<void> => {
      const id = randomUUID()
      try {
        await transfers.expire(trackingId, { actor: 'system:expiry', $correlationId: id, $causationId: id })
      } catch (error) {
        if (error instanceof StoreUnavailableError) throw error
        // An unreadable transfer must not keep the others open.
        logger.error({ err: error, trackingId }, 'a deposit could not be expired')
      }
      tried.set(trackingId, performance.now() + retryAfterMs)
    }
    /** Returns whether more deposits may be due immediately. */
    const expireDue = async (): Promise<boolean> => {
      // The tried deposits may all be listed still, and must not hide the ones after them.
      const options = { sort: { openUntil: 1 }, limit: pageSize + tried.size } as const
      const collection = readModels.collection(collections.transfers)
      const documents = await collection.find({ openUntil: { $lte: clock() } }, options)
      const listed = new Set(documents.map(({ _id }) => _id))
      for (const id of tried.keys()) if (!listed.has(id)) tried.delete(id)
      const nowMs = performance.now()
      const due = [...listed].filter((id) => (tried.get(id) ?? 0) <= nowMs).slice(0, pageSize)
      for (let n = 0; n < due.length && !signal.aborted; n += concurrency) {
        await Promise.all(due.slice(n, n + concurrency).map(expire))
      }
      return due.length === pageSize && tried.size < maxTried
    }
    while (!signal.aborted) {
      const hasMore = await retryWhileUnavailable(expireDue, retry)
      if (!hasMore) await pause(tickMs, signal)
    }
  })
}
