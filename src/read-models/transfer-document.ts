import {
  type Deposit,
  type Funds,
  needsAttention,
  noFunds,
  noPayout,
  type Payout,
  type Transfer,
  type Withdrawal,
} from '../domain/transfer/transfer.js'
import type { FundsDocument, PayoutDocument, TransferDocument } from './documents.js'

/** Returns the document of a transfer; {@link transferOf} is the inverse. Amounts stay far below 2^53 minor units. */
export function documentOf(transfer: Transfer, revision: number): TransferDocument {
  const { trackingId, amountMinor, transactionAmountMinor } = transfer
  return {
    _id: trackingId,
    merchantId: transfer.merchantId,
    kind: transfer.kind,
    status: transfer.status,
    referenceId: transfer.referenceId,
    amountMinor: Number(amountMinor),
    transactionAmountMinor: Number(transactionAmountMinor),
    hasAmountMismatch: transfer.hasAmountMismatch,
    receiptUrl: transfer.receiptUrl,
    message: transfer.message,
    userId: transfer.userId,
    name: transfer.name,
    username: transfer.username,
    paymentMethod: transfer.paymentMethod,
    ...(transfer.kind === 'deposit' ? depositFields(transfer) : withdrawalFields(transfer)),
    createdAt: transfer.createdAt,
    updatedAt: transfer.updatedAt,
    revision,
  }
}

function depositFields(deposit: Deposit): Partial<TransferDocument> {
  const { channel, expiresAt, funds, autoCancelledAmountMinor, cancelReason, reopened } = deposit
  return {
    channel,
    expiresAt,
    ...(funds.receivedMinor > 0n && { funds: fundsDocument(funds) }),
    ...(autoCancelledAmountMinor !== null && { autoCancelledAmountMinor: Number(autoCancelledAmountMinor) }),
    ...(cancelReason !== null && { cancelReason }),
    ...(reopened && { reopened }),
    ...(deposit.status === 'Pending' && { openUntil: expiresAt }),
    ...(needsAttention(deposit) && { attention: 'open', attentionOf: deposit.merchantId }),
  }
}

function fundsDocument({ receivedMinor, returns, resolvedMinor, vouchedMinor }: Funds): FundsDocument {
  return {
    receivedMinor: Number(receivedMinor),
    returns: returns.map(({ amountMinor, receiptUrl }) => ({ amountMinor: Number(amountMinor), receiptUrl })),
    resolvedMinor: Number(resolvedMinor),
    vouchedMinor: Number(vouchedMinor),
  }
}

function withdrawalFields({ accountNumber, identityNumber, payout }: Withdrawal): Partial<TransferDocument> {
  return { accountNumber, identityNumber, ...(payout.steps > 0 && { payout: payoutDocument(payout) }) }
}

function payoutDocument({ claim, claimants, approval, steps }: Payout): PayoutDocument {
  const amountMinor = Number(approval?.amountMinor)
  return { claim, claimants, approval: approval && { ...approval, amountMinor }, steps }
}

/** Returns the domain's state of a document. */
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
    receiptUrl: document.receiptUrl,
    message: document.message,
    userId: document.userId,
    name: document.name,
    username: document.username,
    paymentMethod: document.paymentMethod,
    createdAt: document.createdAt,
    updatedAt: document.updatedAt,
  }
  if (document.kind === 'withdrawal') {
    const { accountNumber, identityNumber } = document
    const payout = document.payout ? payoutOf(document.payout) : noPayout
    return { kind: 'withdrawal', accountNumber: accountNumber!, identityNumber: identityNumber!, payout, ...existing }
  }
  return {
    kind: 'deposit',
    channel: document.channel!,
    expiresAt: document.expiresAt!,
    funds: document.funds ? fundsOf(document.funds) : noFunds,
    autoCancelledAmountMinor: autoCancelledAmountMinor === undefined ? null : BigInt(autoCancelledAmountMinor),
    cancelReason,
    reopened,
    ...existing,
  }
}

function fundsOf({ receivedMinor, returns, resolvedMinor, vouchedMinor }: FundsDocument): Funds {
  return {
    receivedMinor: BigInt(receivedMinor),
    returns: returns.map(({ amountMinor, receiptUrl }) => ({ amountMinor: BigInt(amountMinor), receiptUrl })),
    resolvedMinor: BigInt(resolvedMinor),
    vouchedMinor: BigInt(vouchedMinor),
  }
}

function payoutOf({ claim, claimants, approval, steps }: PayoutDocument): Payout {
  return {
    claim,
    claimants,
    approval: approval && { ...approval, amountMinor: BigInt(approval.amountMinor) },
    steps,
  }
}
