import type { TransferDetail } from '../../../../../src/http/dashboard/api'

/** Returns the moved amount minus the requested amount, in minor units; 0 if nothing moved or the amounts match. */
export function differenceMinor({ amountMinor, transactionAmountMinor, hasAmountMismatch }: TransferDetail): number {
  return hasAmountMismatch && transactionAmountMinor !== 0 ? transactionAmountMinor - amountMinor : 0
}

/** Returns the default amount of a completion: the unsettled money of a deposit that received any, otherwise the requested amount. */
export function expectedMinor({ kind, amountMinor, receivedMinor, unsettledMinor }: TransferDetail): number {
  return kind === 'deposit' && receivedMinor > 0 ? unsettledMinor : amountMinor
}
