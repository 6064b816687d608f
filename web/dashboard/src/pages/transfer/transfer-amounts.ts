import type { TransferDetail } from '../../api/contract'

/** What really moved less what was requested, minor units; 0 where nothing moved, or as much as was asked for. */
export function differenceMinor({ amountMinor, transactionAmountMinor, hasAmountMismatch }: TransferDetail): number {
  return hasAmountMismatch && transactionAmountMinor !== 0 ? transactionAmountMinor - amountMinor : 0
}

/** What a completion is about, unless its user says otherwise: the money that is there, or where none is, what was requested. */
export function expectedMinor({ kind, amountMinor, receivedMinor, unsettledMinor }: TransferDetail): number {
  return kind === 'deposit' && receivedMinor > 0 ? unsettledMinor : amountMinor
}
