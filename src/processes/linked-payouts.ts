import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { TooMuchContentionError } from '../commands/handle-command.js'
import { derivedEventId } from '../commands/ids.js'
import type { CreditRefund, TransferCommands } from '../commands/transfer/transfers.js'
import { isTerminal } from '../domain/transfer/status.js'
import { StoreUnavailableError } from '../event-store/event-store.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import { findByIds } from '../read-models/find-documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { pause, retryWhileUnavailable } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import { type Wallet, WalletUnavailableError } from '../wallet/wallet.js'

const tickMs = 1_000
const pageSize = 200
const retryAfterMs = 10_000
const beforeAll = -1

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
    let after = beforeAll

    const continueOne = async (trackingId: string): Promise<void> => {
      const id = randomUUID()
      const context = { actor: 'system:refunds', $correlationId: id, $causationId: id }
      try {
        await transfers.continuePayouts(trackingId, context, creditWith(deps.wallet))
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
      // The position of each transfer is its own, so the end of a page omits none.
      const options = { sort: { position: 1 }, limit: pageSize } as const
      const page = (await collection.find(
        { openPayouts: true, position: { $gt: after } },
        options,
      )) as TransferDocument[]
      after = page.length === pageSize ? page.at(-1)!.position : beforeAll
      const withdrawals = await findByIds(collection, page.flatMap(openPayoutsOf))
      const open = new Set(
        [...withdrawals.values()]
          .filter((each) => !isTerminal((each as TransferDocument).status))
          .map(({ _id }) => _id),
      )
      const nowMs = performance.now()
      for (const [trackingId, retryMs] of failed) if (retryMs <= nowMs) failed.delete(trackingId)
      for (const document of page) {
        if (signal.aborted) return
        // A refund or repayment has a next step unless a withdrawal is open that pays it.
        const isReady = openPayoutsOf(document).some((id) => !open.has(id))
        if (isReady && !failed.has(document._id)) await continueOne(document._id)
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
