import type { ValueOf } from '../domain/event.js'
import { payeeFields, requestedFields } from '../domain/transfer/requested-fields.js'
import { needsAttention, noFunds, noPayout, type Transfer } from '../domain/transfer/transfer.js'
import type { TObject, TProperties, TSchema } from '../kernel/typebox.js'
import {
  attentionKey,
  type CorrectedOf,
  type FundsOf,
  type MatchedPaymentOf,
  type PayoutOf,
  type PayoutReturnOf,
  type ProposalOf,
  type RefundOf,
  type RepaymentOf,
  type Stored,
  type TransferDocument,
} from './documents.js'

/** Returns the document of a transfer; {@link transferOf} is the inverse. Amounts stay far below 2^53 minor units. */
export function documentOf(transfer: Transfer, position: number, revision: number): TransferDocument {
  const { trackingId, amountMinor, transactionAmountMinor, receiptUrl, message } = transfer
  const { completedAt, corrections, proposals, proposedCorrection, bankPayments } = transfer
  // One literal, because combining several objects would cost a rebuild a third more time.
  return {
    _id: trackingId,
    position,
    merchantId: transfer.merchantId,
    kind: transfer.kind,
    status: transfer.status,
    referenceId: transfer.referenceId,
    amountMinor: Number(amountMinor),
    transactionAmountMinor: Number(transactionAmountMinor),
    hasAmountMismatch: transfer.hasAmountMismatch,
    ...(receiptUrl !== null && { receiptUrl }),
    ...(message !== null && { message }),
    ...(completedAt !== null && { completedAt }),
    ...(corrections.length > 0 && { corrections: corrections.map((each) => correctedWith(each, Number)) }),
    ...(proposals > 0 && { proposals }),
    ...(proposedCorrection && { proposedCorrection: proposalWith(proposedCorrection, Number) }),
    ...(bankPayments.length > 0 && { bankPayments: bankPayments.map((each) => matchedWith(each, Number)) }),
    ...(needsAttention(transfer) && {
      attention: transfer.kind,
      attentionOf: attentionKey(transfer.kind, transfer.merchantId),
    }),
    ...storedFields(requestedFields, transfer),
    ...fieldsOfKind(transfer),
    createdAt: transfer.createdAt,
    updatedAt: transfer.updatedAt,
    revision,
  }
}

function fieldsOfKind(transfer: Transfer): Partial<TransferDocument> {
  if (transfer.kind === 'withdrawal') {
    const { payout, returns, resolvedMinor, refundOf, repaymentOf, repayments, rejection } = transfer
    return {
      ...(refundOf !== null && { refundOf }),
      ...(repaymentOf !== null && { repaymentOf }),
      ...(repayments.length > 0 && { repayments: repayments.map((each) => repaymentWith(each, Number)) }),
      ...(repayments.some(({ state }) => state === 'open') && { openPayouts: true as const }),
      ...storedFields(payeeFields, transfer),
      ...(payout.steps.length > 0 && { payout: payoutWith(payout, Number) }),
      ...(payout.files.length > 0 && { bankFiles: payout.files.map(({ messageId }) => messageId).join(' ') }),
      ...(returns.length > 0 && { returns: returns.map((each) => returnWith(each, Number)) }),
      ...(resolvedMinor > 0n && { resolvedMinor: Number(resolvedMinor) }),
      ...(rejection && { rejection }),
    }
  }
  const { channel, expiresAt, firstExpiresAt, funds, refunds } = transfer
  const { autoCancelledAmountMinor, cancelReason, reopened } = transfer
  return {
    channel,
    expiresAt,
    ...(firstExpiresAt !== expiresAt && { firstExpiresAt }),
    ...(funds.receivedMinor > 0n && { funds: fundsWith(funds, Number) }),
    ...(refunds.length > 0 && { refunds: refunds.map((each) => refundWith(each, Number)) }),
    ...(refunds.some(({ state }) => state === 'open') && { openPayouts: true as const }),
    ...(autoCancelledAmountMinor !== null && { autoCancelledAmountMinor: Number(autoCancelledAmountMinor) }),
    ...(cancelReason !== null && { cancelReason }),
    ...(reopened && { reopened }),
    ...(transfer.status === 'Pending' && { openUntil: expiresAt }),
  }
}

/** Returns a document for lists that do not show the metadata, which is the largest part of a transfer that has any. */
export function withoutMetadata({ metadata: _, ...document }: TransferDocument): TransferDocument {
  return document
}

export function transferOf(document: TransferDocument): Transfer {
  const { autoCancelledAmountMinor, cancelReason = null, reopened = false } = document
  const { corrections = [], proposals = 0, proposedCorrection, bankPayments = [] } = document
  const existing = {
    trackingId: document._id,
    merchantId: document.merchantId,
    referenceId: document.referenceId,
    status: document.status,
    amountMinor: BigInt(document.amountMinor),
    transactionAmountMinor: BigInt(document.transactionAmountMinor),
    hasAmountMismatch: document.hasAmountMismatch,
    receiptUrl: document.receiptUrl ?? null,
    message: document.message ?? null,
    completedAt: document.completedAt ?? null,
    corrections: corrections.map((each) => correctedWith(each, BigInt)),
    proposals,
    proposedCorrection: proposedCorrection ? proposalWith(proposedCorrection, BigInt) : null,
    bankPayments: bankPayments.map((each) => matchedWith(each, BigInt)),
    createdAt: document.createdAt,
    updatedAt: document.updatedAt,
    ...fieldsOf(requestedFields, document),
  }
  if (document.kind === 'withdrawal') {
    const payout = document.payout ? payoutWith(document.payout, BigInt) : noPayout
    const { returns = [], resolvedMinor = 0, refundOf = null } = document
    const back = { returns: returns.map((each) => returnWith(each, BigInt)), resolvedMinor: BigInt(resolvedMinor) }
    const repayments = (document.repayments ?? []).map((each) => repaymentWith(each, BigInt))
    const { repaymentOf = null, rejection = null } = document
    const links = { refundOf, repaymentOf, repayments, rejection }
    return { kind: 'withdrawal', ...links, payout, ...back, ...existing, ...fieldsOf(payeeFields, document) }
  }
  return {
    kind: 'deposit',
    channel: document.channel!,
    expiresAt: document.expiresAt!,
    firstExpiresAt: document.firstExpiresAt ?? document.expiresAt!,
    funds: document.funds ? fundsWith(document.funds, BigInt) : noFunds,
    refunds: (document.refunds ?? []).map((each) => refundWith(each, BigInt)),
    autoCancelledAmountMinor: autoCancelledAmountMinor === undefined ? null : BigInt(autoCancelledAmountMinor),
    cancelReason,
    reopened,
    ...existing,
  }
}

/** A field without a value is absent. An object is stored as JSON text, because its keys can have any characters. */
function storedFields<Fields extends TProperties>(
  fields: Fields,
  transfer: ValueOf<TObject<Fields>>,
): Stored<ValueOf<TObject<Fields>>> {
  const stored: { [name: string]: unknown } = {}
  for (const name in fields) {
    const value = (transfer as typeof stored)[name] ?? null
    if (value !== null) stored[name] = typeof value === 'object' ? JSON.stringify(value) : value
  }
  return stored as Stored<ValueOf<TObject<Fields>>>
}

function fieldsOf<Fields extends TProperties>(fields: Fields, document: TransferDocument): ValueOf<TObject<Fields>> {
  const found: { [name: string]: unknown } = {}
  for (const name in fields) {
    const value = document[name] ?? null
    found[name] = typeof value === 'string' && isObject(fields[name]!) ? JSON.parse(value) : value
  }
  return found as ValueOf<TObject<Fields>>
}

function isObject({ anyOf = [] }: TSchema): boolean {
  return (anyOf as readonly TSchema[]).some(({ type }) => type === 'object')
}

function fundsWith<From, To>(funds: FundsOf<From>, convert: (amount: From) => To): FundsOf<To> {
  return {
    receivedMinor: convert(funds.receivedMinor),
    payments: funds.payments.map((payment) => ({ ...payment, amountMinor: convert(payment.amountMinor) })),
    returns: funds.returns.map(({ amountMinor, receiptUrl }) => ({ amountMinor: convert(amountMinor), receiptUrl })),
    refundedMinor: convert(funds.refundedMinor),
    resolvedMinor: convert(funds.resolvedMinor),
    assumedMinor: convert(funds.assumedMinor),
    statedMinor: convert(funds.statedMinor),
  }
}

function repaymentWith<From, To>(repayment: RepaymentOf<From>, convert: (amount: From) => To): RepaymentOf<To> {
  return { ...repayment, amountMinor: convert(repayment.amountMinor) }
}

function refundWith<From, To>(refund: RefundOf<From>, convert: (amount: From) => To): RefundOf<To> {
  return { ...refund, amountMinor: convert(refund.amountMinor) }
}

function correctedWith<From, To>(correction: CorrectedOf<From>, convert: (amount: From) => To): CorrectedOf<To> {
  const { amountMinor, fromMinor, reference } = correction
  return { amountMinor: convert(amountMinor), fromMinor: convert(fromMinor), reference }
}

function proposalWith<From, To>(proposal: ProposalOf<From>, convert: (amount: From) => To): ProposalOf<To> {
  return { ...proposal, amountMinor: convert(proposal.amountMinor) }
}

function matchedWith<From, To>(each: MatchedPaymentOf<From>, convert: (amount: From) => To): MatchedPaymentOf<To> {
  return { ...each, amountMinor: convert(each.amountMinor) }
}

function returnWith<From, To>(each: PayoutReturnOf<From>, convert: (amount: From) => To): PayoutReturnOf<To> {
  return { ...each, amountMinor: convert(each.amountMinor) }
}

function payoutWith<From, To>(payout: PayoutOf<From>, convert: (amount: From) => To): PayoutOf<To> {
  const { approval } = payout
  const converted = approval && { ...approval, amountMinor: convert(approval.amountMinor) }
  return { ...payout, approval: converted }
}
