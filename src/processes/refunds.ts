import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { TooMuchContentionError } from '../commands/handle-command.js'
import { derivedEventId } from '../commands/ids.js'
import type { CreditRefund, TransferCommands } from '../commands/transfer/transfers.js'
import { isTerminal } from '../domain/transfer/status.js'
import { StoreUnavailableError } from '../event-store/event-store.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { pause, retryWhileUnavailable } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import { type Wallet, WalletUnavailableError } from '../wallet/wallet.js'

const tickMs = 1_000
const pageSize = 200
const retryAfterMs = 10_000

interface Dependencies {
  readonly readModels: ReadModels
  readonly transfers: Pick<TransferCommands, 'continueRefunds'>
  readonly wallet: Wallet
  readonly logger: Logger
}

/**
 * Finishes refunds in one process at a time, until it is stopped: those to wallets, and those whose withdrawal a request did not create or
 * record. The read model names the deposits, of which the commands decide from the log.
 */
export function startRefunds(deps: Dependencies): Part {
  const { readModels, transfers, logger } = deps
  return startUnderLease(deps, 'refunds', async ({ signal }, retry) => {
    /** The time after which a deposit whose refund failed can be tried again, in milliseconds of the monotonic clock. */
    const failed = new Map<string, number>()
    let after: string | undefined

    const continueOne = async (trackingId: string): Promise<void> => {
      const id = randomUUID()
      const context = { actor: 'system:refunds', $correlationId: id, $causationId: id }
      try {
        await transfers.continueRefunds(trackingId, context, creditWith(deps.wallet))
        failed.delete(trackingId)
      } catch (error) {
        if (error instanceof StoreUnavailableError) throw error
        // An unreadable deposit, or one whose wallet is unavailable, must not delay the others.
        const isTemporary = error instanceof WalletUnavailableError || error instanceof TooMuchContentionError
        logger[isTemporary ? 'warn' : 'error']({ err: error, trackingId }, 'a refund could not be continued yet')
        failed.set(trackingId, performance.now() + retryAfterMs)
      }
    }
    /** Goes through the deposits with open refunds, a page at a time. */
    const continueDue = async (): Promise<void> => {
      const collection = readModels.collection(collections.transfers)
      const options = { sort: { openRefundsSince: 1 }, limit: pageSize } as const
      const since = after === undefined ? { $exists: true } : { $gt: after }
      const found = await collection.find({ openRefundsSince: since }, options)
      const page = found as readonly TransferDocument[]
      after = page.length === pageSize ? page.at(-1)!.openRefundsSince : undefined
      const ids = page.flatMap(({ refunds = [] }) => refunds.map(({ refundId }) => refundId))
      const withdrawals = ids.length === 0 ? [] : await collection.find({ _id: { $in: ids } })
      const open = new Set(
        withdrawals.filter((each) => !isTerminal((each as TransferDocument).status)).map(({ _id }) => _id),
      )
      const nowMs = performance.now()
      for (const deposit of page) {
        if (signal.aborted) return
        const isDue = isReady(deposit, open) && (failed.get(deposit._id) ?? 0) <= nowMs
        if (isDue) await continueOne(deposit._id)
      }
    }
    while (!signal.aborted) {
      await retryWhileUnavailable(continueDue, retry)
      await pause(tickMs, signal)
    }
  })
}

/** Returns whether a refund of the deposit has a next step: it is open, and no withdrawal is open that pays it. */
function isReady({ refunds = [] }: TransferDocument, open: ReadonlySet<string>): boolean {
  return refunds.some(({ state, refundId }) => state === 'open' && !open.has(refundId))
}

function creditWith(wallet: Wallet): CreditRefund {
  return async ({ refundId, walletAccountNumber, amountMinor }, { trackingId }) => {
    if (!wallet.refund || walletAccountNumber === null) return 'refused'
    const reference = derivedEventId(trackingId, `refund ${refundId}`)
    return (await wallet.refund({ reference, accountNumber: walletAccountNumber, amountMinor }))
      ? 'returned'
      : 'refused'
  }
}
