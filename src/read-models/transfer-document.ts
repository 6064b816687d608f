import { needsAttention, noFunds, noPayout, type Transfer } from '../domain/transfer/transfer.js'
import type { FundsOf, PayoutOf, TransferDocument } from './documents.js'

/** Returns the document of a transfer; {@link transferOf} is the inverse. Amounts stay far below 2^53 minor units. */
export function documentOf(transfer: Transfer, position: number, revision: number): TransferDocument {
  const { trackingId, amountMinor, transactionAmountMinor, receiptUrl, message } = transfer
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
    userId: transfer.userId,
    name: transfer.name,
    username: transfer.username,
    paymentMethod: transfer.paymentMethod,
    ...fieldsOfKind(transfer),
    createdAt: transfer.createdAt,
    updatedAt: transfer.updatedAt,
    revision,
  }
}

function fieldsOfKind(transfer: Transfer): Partial<TransferDocument> {
  if (transfer.kind === 'withdrawal') {
    const { accountNumber, identityNumber, payout } = transfer
    return {
      accountNumber,
      ...(identityNumber !== null && { identityNumber }),
      ...(payout.steps.length > 0 && { payout: payoutWith(payout, Number) }),
      ...(payout.files.length > 0 && { bankFiles: payout.files.map(({ messageId }) => messageId).join(' ') }),
    }
  }
  const { channel, expiresAt, funds, autoCancelledAmountMinor, cancelReason, reopened } = transfer
  return {
    channel,
    expiresAt,
    ...(funds.receivedMinor > 0n && { funds: fundsWith(funds, Number) }),
    ...(autoCancelledAmountMinor !== null && { autoCancelledAmountMinor: Number(autoCancelledAmountMinor) }),
    ...(cancelReason !== null && { cancelReason }),
    ...(reopened && { reopened }),
    ...(transfer.status === 'Pending' && { openUntil: expiresAt }),
    ...(needsAttention(transfer) && { attention: 'open', attentionOf: transfer.merchantId }),
  }
}

export function transferOf(document: TransferDocument): Transfer {
  const { autoCancelledAmountMinor, cancelReason = null, reopened = false } = document
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
    userId: document.userId,
    name: document.name,
    username: document.username,
    paymentMethod: document.paymentMethod,
    createdAt: document.createdAt,
    updatedAt: document.updatedAt,
  }
  if (document.kind === 'withdrawal') {
    const { accountNumber, identityNumber = null } = document
    const payout = document.payout ? payoutWith(document.payout, BigInt) : noPayout
    return { kind: 'withdrawal', accountNumber: accountNumber!, identityNumber, payout, ...existing }
  }
  return {
    kind: 'deposit',
    channel: document.channel!,
    expiresAt: document.expiresAt!,
    funds: document.funds ? fundsWith(document.funds, BigInt) : noFunds,
    autoCancelledAmountMinor: autoCancelledAmountMinor === undefined ? null : BigInt(autoCancelledAmountMinor),
    cancelReason,
    reopened,
    ...existing,
  }
}

function fundsWith<From, To>(funds: FundsOf<From>, convert: (amount: From) => To): FundsOf<To> {
  return {
    receivedMinor: convert(funds.receivedMinor),
    returns: funds.returns.map(({ amountMinor, receiptUrl }) => ({ amountMinor: convert(amountMinor), receiptUrl })),
    resolvedMinor: convert(funds.resolvedMinor),
    vouchedMinor: convert(funds.vouchedMinor),
  }
}

function payoutWith<From, To>(payout: PayoutOf<From>, convert: (amount: From) => To): PayoutOf<To> {
  const { approval } = payout
  const converted = approval && { ...approval, amountMinor: convert(approval.amountMinor) }
  return { ...payout, approval: converted }
}
