import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import { StoreUnavailableError } from '../event-store/event-store.js'
import type { Clock } from '../kernel/clock.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { pause, retryWhileUnavailable } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'

const tickMs = 1_000
const pageSize = 200
/** At once, so that they share a commit. */
const parallel = 50
/** A deposit that was tried and is listed still: the read model is behind, and asking the log again would change nothing. */
const againAfterMs = 30_000
const triedMax = 2_000

export interface ExpiryDependencies {
  readonly readModels: ReadModels
  readonly transfers: Pick<TransferCommands, 'expire'>
  readonly clock: Clock
  readonly logger: Logger
}

/** Cancels deposits that were not finished in time, in one process at a time, until it is stopped. */
export function startExpiry(deps: ExpiryDependencies): Part {
  return startUnderLease(deps, 'expiry', ({ signal }) => new Expiry(deps).run(signal))
}

class Expiry {
  /** Until when a deposit need not be tried again, milliseconds of the monotonic clock. */
  readonly #tried = new Map<string, number>()

  constructor(private readonly deps: ExpiryDependencies) {}

  async run(signal: AbortSignal): Promise<void> {
    const onUnavailable = (err: Error, failures: number) =>
      this.deps.logger.warn({ err, failures }, 'a store is unavailable')
    while (!signal.aborted) {
      const more = await retryWhileUnavailable(() => this.#tick(signal), { signal, onUnavailable })
      if (!more) await pause(tickMs, signal)
    }
  }

  /** True when there may be more to expire at once. */
  async #tick(signal: AbortSignal): Promise<boolean> {
    const transfers = this.deps.readModels.collection(collections.transfers)
    // Those tried already may all be listed still, and must not hide the ones behind them.
    const options = { sort: { openUntil: 1 }, limit: pageSize + this.#tried.size } as const
    const listed = (await transfers.find({ openUntil: { $lte: this.deps.clock() } }, options)).map(({ _id }) => _id)
    this.#forgetUnlisted(new Set(listed))
    const nowMs = performance.now()
    const due = listed.filter((id) => (this.#tried.get(id) ?? 0) <= nowMs).slice(0, pageSize)
    for (let n = 0; n < due.length && !signal.aborted; n += parallel) {
      await Promise.all(due.slice(n, n + parallel).map((id) => this.#expire(id)))
    }
    return due.length === pageSize && this.#tried.size < triedMax
  }

  /** The log decides: a deposit that was finished meanwhile, or is open longer, stays as it is. */
  async #expire(trackingId: string): Promise<void> {
    const id = randomUUID()
    try {
      await this.deps.transfers.expire(trackingId, { actor: 'system:expiry', $correlationId: id, $causationId: id })
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error
      // One transfer that cannot be read must not keep all others open.
      this.deps.logger.error({ err: error, trackingId }, 'a deposit could not be expired')
    }
    this.#tried.set(trackingId, performance.now() + againAfterMs)
  }

  #forgetUnlisted(listed: ReadonlySet<string>): void {
    for (const id of this.#tried.keys()) if (!listed.has(id)) this.#tried.delete(id)
  }
}
