import { Type } from '../../kernel/typebox.js'
import { erasedAccountNumber } from '../erased-data.js'
import {
  Data,
  type EventsOf,
  Nullable,
  OneOf,
  Personal,
  Since,
  type ValueOf,
  Versions,
  versionBefore,
} from '../event.js'
import {
  AccountNumber,
  Actor,
  BankPaymentId,
  Day,
  Id,
  Minor,
  PositiveMinor,
  ReferenceId,
  SignedMinor,
  Text,
  Time,
} from '../fields.js'
import { payeeFields, requestedFields } from './requested-fields.js'
import { returnReasonCodes } from './return-reasons.js'

export const TransferKind = OneOf('deposit', 'withdrawal')
export type TransferKind = ValueOf<typeof TransferKind>
const DepositChannel = OneOf('hosted', 'native')
export type DepositChannel = ValueOf<typeof DepositChannel>

const BankFormat = OneOf('csv', 'pain.001')
export type BankFormat = ValueOf<typeof BankFormat>

/** `requested`: by the merchant or an operator. */
const CancelReason = OneOf('requested', 'expired', 'amount-mismatch')
export type CancelReason = ValueOf<typeof CancelReason>

/**
 * `account`: a linked withdrawal pays it. `wallet`: the wallet credits the account that paid the deposit. `elsewhere`: it was returned without
 * the service, and a second person must confirm it.
 */
const RefundTarget = OneOf('account', 'wallet', 'elsewhere')
export type RefundTarget = ValueOf<typeof RefundTarget>

/** `cancelled` and `failed`: the withdrawal that pays it. `rejected`: by a user, before it was approved. `refused`: it could not be paid. */
const RefundOutcome = OneOf('cancelled', 'failed', 'rejected', 'refused')
export type RefundOutcome = ValueOf<typeof RefundOutcome>

/**
 * `completed`: the withdrawal was paid. `confirmed`: a user had recorded it before. `received`, `returned`: money arrived or came back.
 * `rejected`: the bank does not pay the withdrawal.
 */
export const BankEffect = OneOf('completed', 'confirmed', 'received', 'returned', 'rejected')
export type BankEffect = ValueOf<typeof BankEffect>

const RepaymentOutcome = OneOf('paid', 'cancelled', 'failed', 'refused')
export type RepaymentOutcome = ValueOf<typeof RepaymentOutcome>

/** On every event, so that a reader of one event needs no other. */
const transfer = {
  trackingId: Id,
  merchantId: Id,
  kind: TransferKind,
  referenceId: ReferenceId,
  /** The requested amount. */
  amountMinor: PositiveMinor,
  at: Time,
}

const creation = {
  ...transfer,
  ...requestedFields,
  /** Whether the creation triggers a callback, by the merchant's settings at that time. */
  callbackOnCreate: Type.Boolean(),
  /** The digest of the request's hashCode; null if it had none. */
  hashId: Nullable(Id),
}
const depositCreation = { ...creation, channel: DepositChannel, expiresAt: Time }
const withdrawalCreation = {
  ...creation,
  ...payeeFields,
  /** The trackingId of the deposit whose money it returns; null for any other withdrawal. */
  refundOf: Since(3, Id),
  /** The trackingId of the withdrawal that came back and that it pays again; null for any other withdrawal. */
  repaymentOf: Since(3, Id),
}

const withMessage = { ...transfer, message: Nullable(Text) }
const claim = { ...transfer, by: Actor }
const receipt = {
  ...transfer,
  receivedAmountMinor: PositiveMinor,
  receiptUrl: Nullable(Text),
  /** Whether the money received so far differs from the request, by the merchant's tolerance at that time. */
  hasAmountMismatch: Type.Boolean(),
}
const lateReceipt = {
  ...receipt,
  /** The reference of a payment that was recorded manually. */
  reference: Since(2, Text),
}
const fundsReturn = {
  ...transfer,
  returnedAmountMinor: PositiveMinor,
  /** The receipt of the return; null if the service paid it. No two returns of a deposit have the same one. */
  receiptUrl: Nullable(Text),
  hasAmountMismatch: Type.Boolean(),
  /** The refund that returned it. */
  refundId: Since(2, Id),
  /** The part of it that was booked. */
  bookedAmountMinor: Since(2, Minor),
  /** Whether it triggers a callback, by the merchant's settings at that time. */
  callbackOnMoney: Since(2, Type.Boolean()),
}
const correction = {
  ...transfer,
  by: Actor,
  reason: Text,
  /** The corrector's own reference; null for none. No two corrections of a transfer have the same one. */
  reference: Nullable(Text),
}

const bankFileAddition = {
  ...claim,
  /** The id of the file, which is the MsgId of pain.001. */
  messageId: Id,
  format: BankFormat,
  /** The SHA-256 of the file's bytes, in hex. */
  sha256: Id,
  /** Why it is in another file; null for the first one. */
  reason: Nullable(Text),
  /** The account from which the bank pays the file; null if the file does not state it. */
  payingAccountId: Since(2, Id),
}

/** The events of a deposit or a withdrawal, in `transfer-<trackingId>`. */
export const transferEvents = {
  DepositCreated: Versions([versionBefore(2, depositCreation)], Data(depositCreation)),
  WithdrawalCreated: Versions(
    [versionBefore(2, withdrawalCreation), versionBefore(3, withdrawalCreation)],
    Data(withdrawalCreation),
  ),
  TransferCompleted: Data({
    ...withMessage,
    transactionAmountMinor: PositiveMinor,
    /** The part of a deposit's booked amount that was not recorded as received before. */
    receivedAmountMinor: Minor,
    hasAmountMismatch: Type.Boolean(),
    receiptUrl: Nullable(Text),
    /** Why the amount differs from the received amount; null if it does not, or if nothing had been received. */
    reason: Nullable(Text),
  }),
  TransferSentToManualControl: Data(withMessage),
  TransferCancelled: Data({
    ...withMessage,
    /** The money that was received and not returned. */
    transactionAmountMinor: Minor,
    /** The part of it that was not recorded as received before. */
    receivedAmountMinor: Minor,
    hasAmountMismatch: Type.Boolean(),
    receiptUrl: Nullable(Text),
    /** The amount that caused an automatic cancellation; null for any other. */
    autoCancelledAmountMinor: Nullable(PositiveMinor),
    reason: CancelReason,
  }),
  TransferFailed: Data(withMessage),
  /** Money was received that does not complete the transfer: it was final already, or it needs manual review. */
  LateFundsReceived: Versions([versionBefore(2, lateReceipt)], Data(lateReceipt)),
  /** A payment for a deposit that is paid manually, which can arrive in several parts. The completion is a separate event. */
  FundsReceived: Data({
    ...receipt,
    /** The bank's reference of the payment. No two payments of a deposit have the same one. */
    reference: Text,
    /** The deposit stays open until then while it holds money, if this is after its expiry. */
    openUntil: Time,
  }),
  TransferReopened: Data({ ...transfer, reason: Text }),
  FundsReturned: Versions([versionBefore(2, fundsReturn)], Data(fundsReturn)),
  /** Money of a deposit will be returned. It is reserved until it is returned or the refund has ended. */
  RefundRequested: Data({
    ...transfer,
    by: Actor,
    /** The trackingId of the withdrawal that pays it, if one does. */
    refundId: Id,
    /** The requester's own reference, which is the referenceId of the withdrawal. */
    refundReferenceId: ReferenceId,
    refundAmountMinor: PositiveMinor,
    to: RefundTarget,
    /** The payment method of the withdrawal. */
    refundMethod: Nullable(Type.Integer()),
    accountNumber: Personal(Nullable(Text)),
    identityNumber: Personal(Nullable(Text)),
    /** The wallet account that paid the deposit. */
    walletAccountNumber: Personal(Nullable(AccountNumber), erasedAccountNumber),
    /** The receipt of a return without the service. */
    receiptUrl: Nullable(Text),
    /** Whether a second person must approve it. A withdrawal has its own approval. */
    needsApproval: Type.Boolean(),
  }),
  RefundApproved: Data({ ...transfer, by: Actor, refundId: Id }),
  /** The refund was not paid, and its money is no longer reserved. */
  RefundEnded: Data({ ...transfer, by: Actor, refundId: Id, outcome: RefundOutcome }),
  /** An approver decided that the transfer needs no further attention. A proposed correction is rejected. */
  AttentionResolved: Data({
    ...transfer,
    /**
     * The money of a deposit that was neither booked nor returned, or the returned money of a withdrawal without a decision. 0 if only an
     * unrecorded receipt or a proposed correction was in doubt.
     */
    resolvedAmountMinor: Minor,
    reason: Text,
  }),
  /** The correction needs the approval of a second person. The next proposal replaces it. */
  CorrectionProposed: Data({ ...correction, correctedAmountMinor: PositiveMinor }),
  /** The booked amount of a Completed transfer was wrong. The status stays. */
  TransferCorrected: Data({
    ...correction,
    /** The person who proposed it, if `by` approved it; otherwise null. */
    proposedBy: Nullable(Actor),
    /** The booked amount from now on. */
    transactionAmountMinor: PositiveMinor,
    /** The booked amount until now. */
    previousAmountMinor: PositiveMinor,
    /** The change of a deposit's received amount, of which the correction replaces the part that only the completion stated. */
    receivedAmountChangeMinor: SignedMinor,
    hasAmountMismatch: Type.Boolean(),
    message: Text,
  }),
  /** An actor is paying this withdrawal, and no one else settles it until then. The end of a claim is not an event. */
  WithdrawalClaimed: Data({ ...claim, until: Time }),
  WithdrawalReleased: Data(claim),
  /** A file for a bank contains the withdrawal. The actor holds its claim until it is completed, cancelled, failed or released. */
  WithdrawalAddedToBankFile: Versions([versionBefore(2, bankFileAddition)], Data(bankFileAddition)),
  /** A second person approved this payment to this account. */
  WithdrawalApproved: Data({ ...claim, accountNumber: Personal(Text), approvedAmountMinor: PositiveMinor }),
  /** The bank sent money of a Completed withdrawal back. The status stays. */
  WithdrawalReturned: Data({
    ...transfer,
    by: Actor,
    returnedAmountMinor: PositiveMinor,
    /** The code of ISO 20022 for the reason. */
    reasonCode: OneOf(...returnReasonCodes),
    /** The bank's reference of the return. No two returns of a withdrawal have the same one. */
    reference: Text,
    receiptUrl: Nullable(Text),
    /** Whether it triggers a callback, by the merchant's settings at that time. */
    callbackOnMoney: Type.Boolean(),
  }),
  /** A payment of a bank's statement, or the bank's rejection, concerns the transfer. The money that moved is in the event before it. */
  BankPaymentMatched: Data({
    ...transfer,
    by: Actor,
    /** The payment of the statement, which is used once, or the rejection. */
    bankPaymentId: BankPaymentId,
    effect: BankEffect,
    /** The reference of the transfer's payment or return that this recorded or confirmed. */
    reference: Nullable(Text),
    /** 0 for a rejection. */
    matchedAmountMinor: Minor,
    /** The day on which the bank booked it; null for a rejection. */
    bookedOn: Nullable(Day),
    bankReference: Nullable(Text),
    /** The bank's code for a return or a rejection. */
    bankReasonCode: Nullable(Text),
    bankReasonText: Personal(Nullable(Text)),
  }),
  /** Money that came back will be paid again, by another withdrawal. It needs no decision until that has ended. */
  RepaymentRequested: Data({
    ...claim,
    /** The trackingId of the withdrawal that pays it. */
    repaymentId: Id,
    /** The requester's own reference, which is the referenceId of that withdrawal. */
    repaymentReferenceId: ReferenceId,
    repaymentAmountMinor: PositiveMinor,
    repaymentMethod: Type.Integer(),
    accountNumber: Personal(Text),
    identityNumber: Personal(Nullable(Text)),
  }),
  RepaymentEnded: Data({
    ...claim,
    repaymentId: Id,
    outcome: RepaymentOutcome,
    /** The amount that was paid again; 0 if it was not paid. */
    resolvedAmountMinor: Minor,
  }),
  /** The customer was erased. The event repeats what a transfer is found by, because its creation cannot be read completely. */
  PersonalDataErased: Data({ ...transfer, paymentMethod: requestedFields.paymentMethod, createdAt: Time }),
}

export type TransferEvent = EventsOf<typeof transferEvents>
export type TransferCreated = Extract<TransferEvent, { type: 'DepositCreated' | 'WithdrawalCreated' }>
