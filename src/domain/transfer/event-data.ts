import type { DataOf } from '../event.js'
import type { Transfer } from './transfer.js'
import type { CancelReason, TransferEvent } from './transfer-events.js'

/** What every event of the transfer carries. */
export function common(state: Transfer, at: string) {
  const { trackingId, merchantId, kind, referenceId, amountMinor } = state
  return { trackingId, merchantId, kind, referenceId, amountMinor, at }
}

/** A cancellation that leaves the money as it is, unless `outcome` says otherwise. */
export function cancelled(
  state: Transfer,
  at: string,
  reason: CancelReason,
  message: string | null,
  outcome: Partial<DataOf<TransferEvent, 'TransferCancelled'>> = {},
) {
  const { transactionAmountMinor, hasAmountMismatch, receiptUrl } = state
  const money = { transactionAmountMinor, hasAmountMismatch, receiptUrl, autoCancelledAmountMinor: null }
  return { type: 'TransferCancelled', data: { ...common(state, at), message, reason, ...money, ...outcome } } as const
}
