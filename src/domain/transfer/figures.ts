import type { Status } from './transfer.js'
import type { TransferEvent } from './transfer-events.js'

/** The changes that figures count: each status that a transfer reaches, and the changes without which the amounts would not add up. */
export type Counted = Status | 'Reopened' | 'Returned'

export interface Figure {
  readonly counted: Counted
  /** The requested amount; of a return, the returned amount. */
  readonly amountMinor: bigint
  /** The transferred amount. */
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

/** Returns the figures that an event adds to, or `undefined` if it is not an event of a transfer. */
export function figuresOf({ type, data }: TransferEvent): readonly Figure[] | undefined {
  const amountMinor = type === 'FundsReturned' ? data.returnedAmountMinor : data.amountMinor
  const transactionAmountMinor = 'transactionAmountMinor' in data ? data.transactionAmountMinor : 0n
  return countedBy[type]?.map((counted) => ({ counted, amountMinor, transactionAmountMinor }))
}
