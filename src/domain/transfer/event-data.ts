import type { DataOf } from '../event.js'
import type { Transfer } from './transfer.js'
import type { CancelReason, TransferEvent } from './transfer-events.js'

/** Returns the fields that every event of the transfer has. */
export function common(state: Transfer, at: string) {
  const { trackingId, merchantId, kind, referenceId, amountMinor } = state
  return { trackingId, merchantId, kind, referenceId, amountMinor, at }
}

/** Returns a cancellation that leaves the money unchanged, unless `outcome` replaces it. */
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
