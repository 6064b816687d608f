import type { HistoryEntry } from '../commands/handle-command.js'
import { toJsonNumber } from '../domain/money.js'
import type { TransferEvent } from '../domain/transfer/events.js'
import { statusCodes, type Transfer } from '../domain/transfer/transfer.js'
import type { TransferDocument } from '../read-models/documents.js'
import type { TransferView } from './schemas/queries.js'

/** A transfer as the API shows it, from the log. */
export function viewOfTransfer(transfer: Transfer, revision: number): TransferView {
  return view(transfer, transfer.trackingId, revision)
}

/** The same from the read model. */
export function viewOfDocument(document: TransferDocument): TransferView {
  return view(document, document._id, document.revision)
}

function view(transfer: Transfer | TransferDocument, trackingId: string, revision: number): TransferView {
  return {
    trackingId,
    transactionId: trackingId,
    referenceId: transfer.referenceId,
    kind: transfer.kind,
    channel: ('channel' in transfer && transfer.channel) || null,
    status: statusCodes[transfer.status],
    statusDescription: transfer.status,
    amount: amountOf(transfer.amountMinor),
    transactionAmount: amountOf(transfer.transactionAmountMinor),
    hasAmountMismatch: transfer.hasAmountMismatch,
    needsAttention: transfer.lateFundsMinor !== undefined,
    lateFunds: amountOf(transfer.lateFundsMinor ?? 0),
    receiptUrl: transfer.receiptUrl,
    message: transfer.message,
    userId: transfer.userId,
    name: transfer.name,
    username: transfer.username,
    paymentMethod: transfer.paymentMethod,
    accountNumber: ('accountNumber' in transfer && transfer.accountNumber) || null,
    identityNumber: ('identityNumber' in transfer && transfer.identityNumber) || null,
    createdAt: transfer.createdAt,
    updatedAt: transfer.updatedAt,
    expiresAt: ('expiresAt' in transfer && transfer.expiresAt) || null,
    revision,
  }
}

function amountOf(minor: bigint | number): number {
  return typeof minor === 'bigint' ? toJsonNumber(minor) : minor / 100
}

export function viewOfHistory(entry: HistoryEntry<TransferEvent>) {
  const { id, revision, event, metadata } = entry
  return {
    eventId: id,
    revision,
    type: event.type,
    at: event.data.at,
    data: viewOfData(event.data),
    actor: shownActor(metadata.actor),
    correlationId: metadata.$correlationId,
  }
}

/** A merchant learns that an operator did it; who works here is ours to know. */
function shownActor(actor: string): string {
  return actor.startsWith('cli:') ? 'operator' : actor
}

/** Amounts as JSON numbers under the names of the API: `amountMinor` becomes `amount`. */
export function viewOfData(data: object): { [field: string]: unknown } {
  const shown: { [field: string]: unknown } = {}
  for (const [field, value] of Object.entries(data)) {
    if (field.endsWith('Minor')) shown[field.slice(0, -'Minor'.length)] = amountOf(value)
    else shown[field] = value
  }
  return shown
}
