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
  readonly transfers: Pick<TransferCommands, 'continuePayouts'>
  readonly wallet: Wallet
  readonly logger: Logger
}

/**
 * Finishes refunds and repayments in one process at a time, until it is stopped: refunds to wallets, and those whose withdrawal a request did
 * not create or record. The read model names the transfers, of which the commands decide from the log.
 */
export function startLinkedPayouts(deps: Dependencies): Part {
  const { readModels, transfers, logger } = deps
  return startUnderLease(deps, 'linked-payouts', async ({ signal }, retry) => {
    /** The time after which a transfer whose refund failed can be tried again, in milliseconds of the monotonic clock. */
    const failed = new Map<string, number>()
    let after: string | undefined

    const continueOne = async (trackingId: string): Promise<void> => {
      const id = randomUUID()
      const context = { actor: 'system:refunds', $correlationId: id, $causationId: id }
      try {
        await transfers.continuePayouts(trackingId, context, creditWith(deps.wallet))
        failed.delete(trackingId)
      } catch (error) {
        if (error instanceof StoreUnavailableError) throw error
        // An unreadable transfer, or one whose wallet is unavailable, must not delay the others.
        const isTemporary = error instanceof WalletUnavailableError || error instanceof TooMuchContentionError
        logger[isTemporary ? 'warn' : 'error'](
          { err: error, trackingId },
          'a refund or repayment could not be continued yet',
        )
        failed.set(trackingId, performance.now() + retryAfterMs)
      }
    }
    /** Goes through the transfers with open refunds or repayments, a page at a time. */
    const continueDue = async (): Promise<void> => {
      const collection = readModels.collection(collections.transfers)
      const options = { sort: { openPayoutsSince: 1 }, limit: pageSize } as const
      const since = after === undefined ? { $exists: true } : { $gt: after }
      const found = await collection.find({ openPayoutsSince: since }, options)
      const page = found as readonly TransferDocument[]
      after = page.length === pageSize ? page.at(-1)?.openPayoutsSince : undefined
      const ids = page.flatMap(openPayoutsOf)
      const withdrawals = ids.length === 0 ? [] : await collection.find({ _id: { $in: ids } })
      const open = new Set(
        withdrawals.filter((each) => !isTerminal((each as TransferDocument).status)).map(({ _id }) => _id),
      )
      const nowMs = performance.now()
      for (const document of page) {
        if (signal.aborted) return
        // A refund or repayment has a next step unless a withdrawal is open that pays it.
        const isReady = openPayoutsOf(document).some((id) => !open.has(id))
        if (isReady && (failed.get(document._id) ?? 0) <= nowMs) await continueOne(document._id)
      }
    }
    while (!signal.aborted) {
      await retryWhileUnavailable(continueDue, retry)
      await pause(tickMs, signal)
    }
  })
}

/** Returns the ids of the open refunds or repayments, which are the trackingIds of the withdrawals that pay them. */
function openPayoutsOf({ refunds = [], repayments = [] }: TransferDocument): readonly string[] {
  const isOpen = ({ state }: { readonly state: string }) => state === 'open'
  const ids = refunds.filter(isOpen).map(({ refundId }) => refundId)
  return [...ids, ...repayments.filter(isOpen).map(({ repaymentId }) => repaymentId)]
}

function creditWith(wallet: Wallet): CreditRefund {
  return async ({ refundId, walletAccountNumber, amountMinor }, { trackingId }) => {
    if (!wallet.refund || walletAccountNumber === null) return 'refused'
    const reference = derivedEventId(trackingId, `refund ${refundId}`)
    return (await wallet.refund({ reference, accountNumber: walletAccountNumber, amountMinor })) ? 'paid' : 'refused'
  }
}
