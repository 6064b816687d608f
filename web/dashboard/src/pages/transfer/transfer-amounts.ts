import type { TransferDetail } from '../../../../../src/http/dashboard/api'

/** Returns the moved amount minus the requested amount, in minor units; 0 if nothing moved or the amounts match. */
export function differenceMinor({ amountMinor, transactionAmountMinor, hasAmountMismatch }: TransferDetail): number {
  return hasAmountMismatch && transactionAmountMinor !== 0 ? transactionAmountMinor - amountMinor : 0
}

/** Returns the rest of the amount for which an open deposit waits, or `undefined` if it has received no part. */
export function missingMinor({ kind, status, amountMinor, unsettledMinor }: TransferDetail): number | undefined {
  const isWaiting = kind === 'deposit' && status === 'Pending' && unsettledMinor > 0 && unsettledMinor < amountMinor
  return isWaiting ? amountMinor - unsettledMinor : undefined
}
