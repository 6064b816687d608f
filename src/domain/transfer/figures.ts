import type { Status } from './transfer.js'
import type { TransferEvent } from './transfer-events.js'

/** What figures count: each status that a transfer reaches, and what else its money needs to add up. */
export type Counted = Status | 'Reopened' | 'Returned'

export interface Figure {
  readonly counted: Counted
  /** Requested; of a return, what was given back. Minor units, as the other. */
  readonly amountMinor: bigint
  /** Really transferred. */
  readonly transactionAmountMinor: bigint
}

const countedBy: { readonly [type in TransferEvent['type']]: readonly Counted[] } = {
  DepositCreated: ['Pending'],
  WithdrawalCreated: ['Pending'],
  TransferCompleted: ['Completed'],
  TransferSentToManualControl: ['ManualControl'],
  TransferReopened: ['ManualControl', 'Reopened'],
  TransferCancelled: ['Cancelled'],
  TransferFailed: ['Failed'],
  LateFundsReceived: [],
  FundsReturned: ['Returned'],
  AttentionResolved: [],
  WithdrawalClaimed: [],
  WithdrawalReleased: [],
  WithdrawalApproved: [],
  PersonalDataErased: [],
}

/** Undefined for an event of no transfer. */
export function figuresOf({ type, data }: TransferEvent): readonly Figure[] | undefined {
  const amountMinor = type === 'FundsReturned' ? data.returnedAmountMinor : data.amountMinor
  const transactionAmountMinor = 'transactionAmountMinor' in data ? data.transactionAmountMinor : 0n
  return countedBy[type]?.map((counted) => ({ counted, amountMinor, transactionAmountMinor }))
}
