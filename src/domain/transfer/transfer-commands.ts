import type { DataOf } from '../event.js'
import type { ExceededLimit } from '../withdrawal-limits.js'
import type {
  RefundOutcome,
  RefundTarget,
  RepaymentOutcome,
  TransferCreated,
  TransferEvent,
} from './transfer-events.js'

/** The domain has no clock: each command brings its time. */
type ByActor = { readonly by: string; readonly at: string }

/** `hashId` is the digest of the request's hashCode, if it had one. */
type Create<Type extends TransferCreated['type']> = Omit<DataOf<TransferEvent, Type>, 'kind' | 'hashId'> & {
  readonly hashId?: string | null
}
export type CreateDeposit = { readonly type: 'CreateDeposit' } & Create<'DepositCreated'>
export type CreateWithdrawal = { readonly type: 'CreateWithdrawal' } & Create<'WithdrawalCreated'>

interface PayoutCommand {
  /** Whether the log does not verify. Then no withdrawal is claimed, approved or completed. */
  readonly payoutsStopped?: boolean
}

/** When a payment needs the approval of a second person. */
export interface ApprovalRules {
  /** The merchant's amount above which a withdrawal needs an approval; null for none. */
  readonly approvalAboveMinor: bigint | null
  /** The merchant's limits that the payout is beyond. */
  readonly exceeded?: readonly ExceededLimit[]
}

/** A command that settles a transfer. While a withdrawal is claimed, only the claimant settles it. */
export interface Settler extends ByActor {
  /** Whether a withdrawal can be settled only under the actor's own claim. */
  readonly underClaim: boolean
}

/** Withdrawals only: no other actor can settle it for a while. */
export type Claim = { readonly type: 'Claim' } & ByActor & PayoutCommand
/** `underClaim`: only the actor's own claim. The operator of the service can end any. */
export type Release = { readonly type: 'Release' } & Settler

/** Why withdrawals that are in a file already are in another one, and the files (messageId) that the user has seen. */
export type RepeatedPayout = { readonly reason: string; readonly files: readonly string[] }

/** Withdrawals only: a bank pays it, because a file contains it. The actor must be allowed to pay it now. */
export interface AddToBankFile
  extends Settler,
    PayoutCommand,
    ApprovalRules,
    Pick<DataOf<TransferEvent, 'WithdrawalAddedToBankFile'>, 'messageId' | 'format' | 'sha256'> {
  readonly type: 'AddToBankFile'
  /** The account that pays; null if the file does not state it. */
  readonly payingAccountId: string | null
  readonly repeat: RepeatedPayout | null
}

/** Withdrawals above the merchant's threshold or beyond its limits: a second person approves. */
export interface Approve extends ByActor, PayoutCommand, ApprovalRules {
  readonly type: 'Approve'
  /** The amount to pay; defaults to the requested amount. */
  readonly amountMinor?: bigint
}

/** Rejects an amount that is probably mistyped, unless it is repeated. */
export interface GuardedAmount {
  /** The same amount again, which is required if the amount is unlikely. */
  readonly confirmedAmountMinor?: bigint | undefined
  /** An amount is unlikely if it is this many times the requested one, or as small a fraction of it. */
  readonly guardFactor: number
}

export interface Complete extends Settler, PayoutCommand, GuardedAmount, ApprovalRules {
  readonly type: 'Complete'
  /** The transferred amount; defaults to the received money that is still available, or to the requested amount if none was received. */
  readonly transactionAmountMinor?: bigint | undefined
  readonly receiptUrl: string | null
  readonly message: string | null
  readonly reason: string | null
  readonly mismatchPolicy: MismatchPolicy
  /** Whether the bank has paid the file that contains the withdrawal. Then no claim holds it. */
  readonly isPaid?: boolean
}

export interface ChangeStatus extends Settler {
  readonly type: 'SendToManualControl' | 'Cancel' | 'Fail'
  readonly message: string | null
}

export interface MismatchPolicy {
  /** The largest difference that is not a mismatch. */
  readonly toleranceMinor: bigint
  /** Whether a deposit is cancelled instead of completed (specification, Events, rule 3). */
  readonly autoCancel: boolean
}

/** Money for a deposit was taken from the customer. It completes a Pending deposit, and is recorded on any other. */
export interface ReceiveFunds {
  readonly type: 'ReceiveFunds'
  readonly receivedAmountMinor: bigint
  readonly receiptUrl: string | null
  readonly mismatchPolicy: MismatchPolicy
  /** The merchant's amount above which a deposit needs manual review; null for none. */
  readonly manualControlAboveMinor: bigint | null
  readonly at: string
}

/**
 * A payment was found for a deposit that is paid manually. Payments add up: the deposit is completed once their sum is the requested amount
 * within the tolerance.
 */
export interface ReceivePart
  extends Pick<ReceiveFunds, 'receivedAmountMinor' | 'receiptUrl' | 'manualControlAboveMinor'>,
    GuardedAmount {
  readonly type: 'ReceivePart'
  /** The bank's reference, which identifies the payment. */
  readonly reference: string
  /** Whether the deposit's payment method is manual. Money from a wallet is recorded by the wallet's own report. */
  readonly isManual: boolean
  readonly toleranceMinor: bigint
  readonly at: string
}

export interface Correction extends ByActor, Pick<MismatchPolicy, 'toleranceMinor'> {
  /** The amount that moved. */
  readonly amountMinor: bigint
  /** How many days after its completion a transfer can be corrected. */
  readonly correctionDays: number
  /** The money that the wallet has taken for a deposit, which no correction changes. */
  readonly collectedMinor: bigint
}

/** The booked amount of a Completed transfer is wrong. Above the merchant's threshold, this proposes the correction to a second person. */
export interface Correct extends Correction, GuardedAmount {
  readonly type: 'Correct'
  readonly reason: string
  /** The corrector's own reference, under which the correction happens once; null for none. */
  readonly reference: string | null
  readonly approvalAboveMinor: bigint | null
}

/** A second person approves the proposed correction, whose amount is repeated. */
export interface ApproveCorrection extends Correction {
  readonly type: 'ApproveCorrection'
}

interface MoneyBack {
  /** Whether the merchant wants a callback for money that goes or comes back. */
  readonly callbackOnMoney: boolean
}

/** Money of a deposit was returned without the service, as the receipt shows. Above the merchant's threshold, this proposes the record. */
export interface ReturnFunds extends ByActor, Pick<MismatchPolicy, 'toleranceMinor'>, MoneyBack {
  readonly type: 'ReturnFunds'
  readonly amountMinor: bigint
  readonly receiptUrl: string
  /** The id of the proposal. */
  readonly refundId: string
  readonly approvalAboveMinor: bigint | null
}

/** Money of a deposit will be returned: booked money, or money that no one has decided about. */
export interface RequestRefund
  extends ByActor,
    Pick<DataOf<TransferEvent, 'RefundRequested'>, 'refundId' | 'refundMethod' | 'accountNumber' | 'identityNumber'> {
  readonly type: 'RequestRefund'
  readonly referenceId: string
  readonly amountMinor: bigint
  readonly to: Exclude<RefundTarget, 'elsewhere'>
  /** The wallet account that paid the deposit, with the amount; null if none did. */
  readonly paidFrom: { readonly accountNumber: number; readonly amountMinor: bigint } | null
  /** Whether the wallet can return money. */
  readonly walletRefunds: boolean
  readonly approvalAboveMinor: bigint | null
}

/** A second person approves a refund that needs it. */
export interface ApproveRefund extends ByActor, Pick<MismatchPolicy, 'toleranceMinor'>, MoneyBack {
  readonly type: 'ApproveRefund'
  readonly refundId: string
}

/** A refund was paid. */
export interface CompleteRefund extends Pick<MismatchPolicy, 'toleranceMinor'>, MoneyBack {
  readonly type: 'CompleteRefund'
  readonly refundId: string
  readonly at: string
}

/** The bank sent money of a completed withdrawal back. */
export interface ReturnPayout
  extends ByActor,
    MoneyBack,
    Pick<DataOf<TransferEvent, 'WithdrawalReturned'>, 'returnedAmountMinor' | 'reasonCode' | 'receiptUrl'> {
  readonly type: 'ReturnPayout'
  /** The bank's reference, which identifies the return. */
  readonly reference: string
}

/** A payment of a bank's statement, or the bank's rejection, concerns the transfer. It takes effect once. */
export interface MatchBankPayment
  extends Settler,
    PayoutCommand,
    ApprovalRules,
    MoneyBack,
    Pick<ReceivePart, 'isManual' | 'manualControlAboveMinor'>,
    Pick<DataOf<TransferEvent, 'BankPaymentMatched'>, 'bankPaymentId' | 'matchedAmountMinor' | 'bookedOn'>,
    Pick<DataOf<TransferEvent, 'BankPaymentMatched'>, 'bankReference' | 'bankReasonCode' | 'bankReasonText'> {
  readonly type: 'MatchBankPayment'
  readonly matched: 'debit' | 'credit' | 'return' | 'rejection'
  readonly mismatchPolicy: MismatchPolicy
}

/** `rejected`: the refund was not approved. Any other outcome: it was not paid. */
export interface EndRefund extends ByActor {
  readonly type: 'EndRefund'
  readonly refundId: string
  readonly outcome: RefundOutcome
}

/** Money of a withdrawal that came back will be paid again, by another withdrawal. */
export interface RequestRepayment
  extends ByActor,
    Pick<
      DataOf<TransferEvent, 'RepaymentRequested'>,
      'repaymentId' | 'repaymentMethod' | 'accountNumber' | 'identityNumber'
    > {
  readonly type: 'RequestRepayment'
  readonly referenceId: string
  readonly amountMinor: bigint
}

export interface EndRepayment extends ByActor {
  readonly type: 'EndRepayment'
  readonly repaymentId: string
  readonly outcome: RepaymentOutcome
}

/** `ResolveAttention`: the transfer needs no further attention. A proposed correction is rejected. */
export type Settle = { readonly type: 'ResolveAttention' | 'Reopen'; readonly reason: string; readonly at: string }

export type TransferCommand =
  | CreateDeposit
  | CreateWithdrawal
  | Complete
  | ChangeStatus
  | Claim
  | Release
  | AddToBankFile
  | Approve
  /** Cancels a deposit that was not paid in time, and changes no other transfer. */
  | { readonly type: 'Expire'; readonly at: string }
  | ReceiveFunds
  | ReceivePart
  | Correct
  | ApproveCorrection
  | ReturnFunds
  | ReturnPayout
  | MatchBankPayment
  | RequestRefund
  | ApproveRefund
  | CompleteRefund
  | EndRefund
  | RequestRepayment
  | EndRepayment
  | Settle
  /** The customer was erased. Valid regardless of the status. */
  | { readonly type: 'ErasePersonalData'; readonly at: string }
