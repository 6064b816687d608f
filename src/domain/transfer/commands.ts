import type { DataOf } from '../event.js'
import type { TransferEvent } from './events.js'

/** Time arrives in the command (`at`, ISO 8601): the domain has no clock. */

export type CreateDeposit = { readonly type: 'CreateDeposit' } & Omit<DataOf<TransferEvent, 'DepositCreated'>, 'kind'>
export type CreateWithdrawal = { readonly type: 'CreateWithdrawal' } & Omit<
  DataOf<TransferEvent, 'WithdrawalCreated'>,
  'kind'
>

export interface Complete {
  readonly type: 'Complete'
  /** What was really transferred; when absent what was received and is still there, or the requested amount where nothing was. */
  readonly transactionAmountMinor?: bigint
  /** The same amount once more: needed where it is unlikely. */
  readonly confirmedAmountMinor?: bigint
  /** An amount this many times the requested one, or a fraction as small, is unlikely. */
  readonly guardFactor: number
  readonly receiptUrl: string | null
  readonly message: string | null
  /** Why another amount than was received. */
  readonly reason: string | null
  readonly mismatchPolicy: MismatchPolicy
  readonly at: string
}

/** The merchant's settings for money that arrives in another amount than requested. */
export interface MismatchPolicy {
  /** A difference up to this, in minor units, is no mismatch. */
  readonly toleranceMinor: bigint
  /** Deposits only: cancel instead of completing (specification, Events, rule 3). */
  readonly autoCancel: boolean
}

/** Money for a deposit was taken from the customer: it completes a Pending one, and is recorded on any other. */
export interface ReceiveFunds {
  readonly type: 'ReceiveFunds'
  /** What was really taken, minor units. */
  readonly receivedAmountMinor: bigint
  readonly receiptUrl: string | null
  readonly mismatchPolicy: MismatchPolicy
  /** The merchant's amount (minor units) above which a person looks at a deposit; null: none. */
  readonly manualControlAboveMinor: bigint | null
  readonly at: string
}

/** Money of a deposit was given back, as the receipt shows. */
export interface ReturnFunds {
  readonly type: 'ReturnFunds'
  /** Minor units. */
  readonly amountMinor: bigint
  readonly receiptUrl: string
  /** The merchant's; see {@link MismatchPolicy}. */
  readonly toleranceMinor: bigint
  readonly at: string
}

/** `ResolveAttention`: nothing more has to be done about a deposit's money. */
export interface Settle {
  readonly type: 'ResolveAttention' | 'Reopen'
  readonly reason: string
  readonly at: string
}

export type TransferCommand =
  | CreateDeposit
  | CreateWithdrawal
  | Complete
  | { readonly type: 'SendToManualControl' | 'Cancel' | 'Fail'; readonly message: string | null; readonly at: string }
  /** Cancels a deposit whose time is over; does nothing to any other transfer. */
  | { readonly type: 'Expire'; readonly at: string }
  | ReceiveFunds
  | ReturnFunds
  | Settle
