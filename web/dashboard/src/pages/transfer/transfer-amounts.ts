import type { TransferDetail } from '../../../../../src/http/dashboard/api'

/** Returns the moved amount minus the requested amount, in minor units; 0 if nothing moved or the amounts match. */
export function differenceMinor({ amountMinor, transactionAmountMinor, hasAmountMismatch }: TransferDetail): number {
  return hasAmountMismatch && transactionAmountMinor !== 0 ? transactionAmountMinor - amountMinor : 0
}

/** Returns the part of the requested amount that is neither booked nor held, in minor units. */
export function missingMinor({ status, amountMinor, unsettledMinor }: TransferDetail): number {
  return status === 'Completed' ? 0 : Math.max(0, amountMinor - unsettledMinor)
}
