import type { BankFileProblem } from '../../domain/bank-file.js'
import { type Refused, violate } from '../../domain/decider.js'
import { type Currency, isPayable } from '../../domain/money.js'
import type { Violation } from '../../domain/rules.js'
import type { Debtor } from '../../domain/sepa-debtor.js'
import { isReturnReason } from '../../domain/transfer/return-reasons.js'
import type { Transfer } from '../../domain/transfer/transfer.js'
import type {
  ApproveCorrection,
  ChangeStatus,
  Correct,
  CreateDeposit,
  CreateWithdrawal,
  ReceivePart,
  RepeatedPayout,
  RequestRefund,
  RequestRepayment,
  ReturnFunds,
  ReturnPayout,
  Settle,
} from '../../domain/transfer/transfer-commands.js'
import type { BankFormat, TransferEvent } from '../../domain/transfer/transfer-events.js'
import { isVisible } from '../../kernel/text.js'
import type { RequestHash } from './create-transfer.js'

/** `hash` is the verified hashCode; omitted if the request has none. */
type WithHash = { readonly hash?: RequestHash | undefined }

export type DepositRequest = Omit<CreateDeposit, 'type' | 'trackingId' | 'at' | 'expiresAt'> &
  WithHash & { readonly expiryMinutes: number }
export type WithdrawalRequest = Omit<CreateWithdrawal, 'type' | 'trackingId' | 'at'> & WithHash
export type CreateRequest = DepositRequest | WithdrawalRequest

interface CompleteRequest {
  readonly transactionAmountMinor?: bigint | undefined
  /** The same amount again; required if the amount is unusual. */
  readonly confirmedAmountMinor?: bigint | undefined
  readonly receiptUrl?: string | undefined
  readonly message?: string | undefined
  readonly reason?: string | undefined
}

type ReceiveRequest = Pick<ReceivePart, 'receivedAmountMinor' | 'confirmedAmountMinor' | 'reference'> & {
  readonly receiptUrl?: string | undefined
}

type CorrectRequest = Pick<Correct, 'amountMinor' | 'confirmedAmountMinor' | 'reason'> & {
  readonly reference?: string | undefined
}

type ReturnPayoutRequest = Pick<ReturnPayout, 'returnedAmountMinor' | 'reasonCode' | 'reference'> & {
  readonly receiptUrl?: string | undefined
}

/** The account is given for `account` only. */
type RefundRequest = Pick<RequestRefund, 'referenceId' | 'amountMinor' | 'to'> & {
  readonly paymentMethod?: number | undefined
  readonly accountNumber?: string | undefined
  readonly identityNumber?: string | undefined
}

type RepaymentRequest = Pick<RequestRepayment, 'referenceId' | 'amountMinor' | 'accountNumber'> & {
  readonly paymentMethod?: number | undefined
  readonly identityNumber?: string | undefined
}

/** An action of a user on a transfer. `Approve` applies to `amountMinor`; defaults to the requested amount. */
export type TransferAction =
  | { readonly type: 'Claim' }
  | { readonly type: 'Release' }
  | { readonly type: 'Approve'; readonly amountMinor?: bigint }
  | ({ readonly type: 'Complete' } & CompleteRequest)
  | Pick<ChangeStatus, 'type' | 'message'>
  | ({ readonly type: 'ReceivePart' } & ReceiveRequest)
  | ({ readonly type: 'Correct' } & CorrectRequest)
  | Pick<ApproveCorrection, 'type' | 'amountMinor'>
  | Pick<ReturnFunds, 'type' | 'amountMinor' | 'receiptUrl'>
  | ({ readonly type: 'ReturnPayout' } & ReturnPayoutRequest)
  | ({ readonly type: 'RequestRefund' } & RefundRequest)
  | ({ readonly type: 'RequestRepayment' } & RepaymentRequest)
  | { readonly type: 'ApproveRefund'; readonly refundId: string }
  | { readonly type: 'RejectRefund'; readonly refundId: string }
  | Pick<Settle, 'type' | 'reason'>

export interface BankFileRequest {
  readonly format: BankFormat
  /** Existing transfers, each once. */
  readonly trackingIds: readonly string[]
  readonly debtor?: Debtor | undefined
  /** The day on which the bank pays a SEPA file; defaults to the next day of TARGET. */
  readonly date?: string | undefined
  /** The time zone of the day on which a CSV file is produced. */
  readonly timeZone: string
  readonly repeat?: RepeatedPayout | undefined
  readonly underClaim: boolean
}

/** `date` is the day on which the bank pays a SEPA file or on which a CSV file was produced, `sha256` the digest of the text in hex. */
export type ProducedFile =
  | {
      readonly accepted: true
      readonly messageId: string
      readonly date: string
      readonly sha256: string
      readonly text: string
    }
  | { readonly accepted: false; readonly problems: readonly BankFileProblem[] }

export interface Acting {
  /** The revision that the user saw. If the transfer has changed since, the action is rejected. */
  readonly revision?: number
  /** Requires the user's own claim to settle a withdrawal. */
  readonly underClaim?: boolean
}

/** Returns whether an event has the effect of an action that can be done once. */
export function hasEffect(action: TransferAction, { type, data }: TransferEvent): boolean {
  switch (action.type) {
    case 'Complete':
      return type === 'TransferCompleted' || (type === 'TransferCancelled' && data.autoCancelledAmountMinor !== null)
    case 'Cancel':
      return type === 'TransferCancelled'
    case 'Fail':
      return type === 'TransferFailed'
    case 'SendToManualControl':
      return type === 'TransferSentToManualControl' || type === 'TransferReopened'
    case 'Reopen':
      return type === 'TransferReopened'
    case 'ReceivePart':
      return (type === 'FundsReceived' || type === 'LateFundsReceived') && data.reference === action.reference
    case 'Correct':
      return type === 'TransferCorrected' && data.transactionAmountMinor === action.amountMinor
    case 'ApproveCorrection':
      return type === 'TransferCorrected' && data.transactionAmountMinor === action.amountMinor
    case 'ReturnFunds':
      return (type === 'FundsReturned' || type === 'RefundRequested') && data.receiptUrl === action.receiptUrl
    case 'RequestRefund':
      return type === 'RefundRequested' && data.refundReferenceId === action.referenceId
    case 'RequestRepayment':
      return type === 'RepaymentRequested' && data.repaymentReferenceId === action.referenceId
    case 'ApproveRefund':
      return type === 'RefundApproved' && data.refundId === action.refundId
    case 'RejectRefund':
      return type === 'RefundEnded' && data.refundId === action.refundId
    case 'ReturnPayout':
      return type === 'WithdrawalReturned' && data.reference === action.reference
    case 'ResolveAttention':
      return type === 'AttentionResolved'
    default:
      // Claims and approvals are renewed by a repeat.
      return false
  }
}

/** `isRepeat`: the same actor did the same on the same revision, and changed the transfer then. */
export type TransferResult =
  | (FoundTransfer & { readonly accepted: true; readonly changed: boolean; readonly isRepeat?: boolean })
  | Refused
export type FoundTransfer = { readonly transfer: Transfer; readonly revision: number }

// The rules for the input of everyone who settles transfers: merchants' programs, users of the dashboard and the command line.

/** Returns the rule that a message or a reason violates. Merchants and customers read these texts. */
export function settlementTextProblem(text: string): Violation | undefined {
  if (text.trim() === '') return violate('blank')
  return text.split('\n').every(isVisible) ? undefined : violate('hidden-characters')
}

export function receiptUrlProblem(text: string): Violation | undefined {
  const isWebAddress = isVisible(text) && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
  return isWebAddress ? undefined : violate('url-not-http')
}

/** The largest number of characters in the reference of a payment, a correction or a return. */
export const maxReferenceLength = 128

/** Returns the rule that the reference of a payment, a correction or a return violates. */
export function referenceProblem(text: string): Violation | undefined {
  if (text.trim() === '' || text.length > maxReferenceLength)
    return violate('text-length', { most: maxReferenceLength })
  return isVisible(text) ? undefined : violate('hidden-characters')
}

/** Returns the rule that the reason code of a return violates. */
export function returnReasonProblem(code: string): Violation | undefined {
  return isReturnReason(code) ? undefined : violate('return-reason-unknown')
}

/** Returns the rule that an amount violates which the currency cannot represent. */
export function settlementAmountProblem(currency: Currency, amountMinor: bigint): Violation | undefined {
  return isPayable(currency, amountMinor) ? undefined : violate('whole-amount', { currency: currency.code })
}
