import type { DataOf } from '../event.js'
import type { TransferEvent } from './transfer-events.js'

/** Time arrives in the command (`at`, ISO 8601): the domain has no clock. */

interface Create {
  /** See the event; null when absent. */
  readonly hashId?: string
}

export type CreateDeposit = { readonly type: 'CreateDeposit' } & Create &
  Omit<DataOf<TransferEvent, 'DepositCreated'>, 'kind' | 'hashId'>
export type CreateWithdrawal = { readonly type: 'CreateWithdrawal' } & Create &
  Omit<DataOf<TransferEvent, 'WithdrawalCreated'>, 'kind' | 'hashId'>

/** What is paid out is asked this, too. */
interface PayingOut {
  /** Set while the log does not verify: withdrawals are neither claimed, approved nor completed. */
  readonly payoutsStopped?: boolean
}

/** Who settles a transfer. Nobody settles a withdrawal while another's claim stands. */
export interface Settler {
  /** The actor, as in the events' metadata. */
  readonly by: string
  /** A withdrawal is settled under a claim of one's own only. */
  readonly underClaim: boolean
  readonly at: string
}

/** Withdrawals only: for a while nobody else may settle it. */
export interface Claim extends PayingOut {
  readonly type: 'Claim'
  readonly by: string
  readonly at: string
}

export interface Release {
  readonly type: 'Release'
  readonly by: string
  readonly at: string
}

/** Withdrawals above the merchant's threshold: another than the one who pays agrees. */
export interface Approve extends PayingOut {
  readonly type: 'Approve'
  readonly by: string
  /** What is to be paid, minor units; the requested amount when absent. */
  readonly amountMinor?: bigint
  /** The merchant's amount (minor units) above which a withdrawal needs it; null: none does. */
  readonly approvalAboveMinor: bigint | null
  readonly at: string
}

export interface Complete extends Settler, PayingOut {
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
  /** See {@link Approve}. */
  readonly approvalAboveMinor: bigint | null
}

/** Another status than Completed, because a person says so. */
export interface ChangeStatus extends Settler {
  readonly type: 'SendToManualControl' | 'Cancel' | 'Fail'
  readonly message: string | null
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
  | ChangeStatus
  | Claim
  | Release
  | Approve
  /** Cancels a deposit whose time is over; does nothing to any other transfer. */
  | { readonly type: 'Expire'; readonly at: string }
  | ReceiveFunds
  | ReturnFunds
  | Settle
  /** The customer was erased: follows from that, whatever the transfer's status. */
  | { readonly type: 'ErasePersonalData'; readonly at: string }
