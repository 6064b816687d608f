import type { HistoryEntry } from '../../commands/handle-command.js'
import type { FoundTransfer } from '../../commands/transfer/transfer-requests.js'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import { toJsonNumber } from '../../domain/money.js'
import { isTerminal, statusCodes } from '../../domain/transfer/status.js'
import {
  needsAttention,
  type Refund,
  type Repayment,
  requestOf,
  reservedMinor,
  returnedMinor,
  type Transfer,
  unsettledMinor,
} from '../../domain/transfer/transfer.js'
import type { TransferEvent } from '../../domain/transfer/transfer-events.js'
import type { ExceededLimit } from '../../domain/withdrawal-limits.js'
import { exceededJson } from '../../domain/withdrawal-limits.js'
import type { TransferDocument } from '../../read-models/documents.js'
import { transferOf } from '../../read-models/transfer-document.js'
import { hiddenFields, type TransferView } from './v1-schemas.js'

/** Returns the API's views of transfers, with the limits that their payouts are beyond. */
export async function viewsOf(
  commands: Pick<TransferCommands, 'exceededLimits'>,
  found: readonly FoundTransfer[],
): Promise<TransferView[]> {
  const exceeded = await commands.exceededLimits(found.map(({ transfer }) => transfer))
  return found.map((each) => viewOfTransfer(each, exceeded.get(each.transfer.trackingId) ?? []))
}

/** Returns the API's view of one transfer. */
export async function viewOf(
  commands: Pick<TransferCommands, 'exceededLimits'>,
  found: FoundTransfer,
): Promise<TransferView> {
  const [view] = await viewsOf(commands, [found])
  return view!
}

/** Returns the same views from the read model. */
export function viewsOfDocuments(
  commands: Pick<TransferCommands, 'exceededLimits'>,
  documents: readonly TransferDocument[],
): Promise<TransferView[]> {
  const found = documents.map((document) => ({ transfer: transferOf(document), revision: document.revision }))
  return viewsOf(commands, found)
}

function viewOfTransfer({ transfer, revision }: FoundTransfer, exceeded: readonly ExceededLimit[]): TransferView {
  const { trackingId, kind } = transfer
  const money = kind === 'deposit' ? transfer.funds : transfer
  return {
    trackingId,
    transactionId: trackingId,
    referenceId: transfer.referenceId,
    kind,
    channel: kind === 'deposit' ? transfer.channel : null,
    status: statusCodes[transfer.status],
    statusDescription: transfer.status,
    amount: toJsonNumber(transfer.amountMinor),
    transactionAmount: toJsonNumber(transfer.transactionAmountMinor),
    hasAmountMismatch: transfer.hasAmountMismatch,
    receivedAmount: toJsonNumber(kind === 'deposit' ? transfer.funds.receivedMinor : 0n),
    returnedAmount: toJsonNumber(returnedMinor(money)),
    refundedAmount: toJsonNumber(kind === 'deposit' ? transfer.funds.refundedMinor : 0n),
    reservedAmount: toJsonNumber(reservedMinor(transfer)),
    resolvedAmount: toJsonNumber(money.resolvedMinor),
    needsAttention: needsAttention(transfer),
    lateFunds: toJsonNumber(unsettledMinor(transfer)),
    receiptUrl: transfer.receiptUrl,
    message: transfer.message,
    ...requestOf(transfer),
    ...payoutView(transfer),
    exceededLimits: exceededJson(exceeded),
    proposedAmount: transfer.proposedCorrection ? toJsonNumber(transfer.proposedCorrection.amountMinor) : null,
    refundOf: kind === 'withdrawal' ? transfer.refundOf : null,
    refunds: kind === 'deposit' ? transfer.refunds.map(viewOfRefund) : [],
    repaymentOf: kind === 'withdrawal' ? transfer.repaymentOf : null,
    repayments: kind === 'withdrawal' ? transfer.repayments.map(viewOfRepayment) : [],
    createdAt: transfer.createdAt,
    updatedAt: transfer.updatedAt,
    expiresAt: kind === 'deposit' ? transfer.expiresAt : null,
    revision,
  }
}

function viewOfRefund({ refundId, referenceId, amountMinor, to, state, by, at, accountNumber, receiptUrl }: Refund) {
  const amount = toJsonNumber(amountMinor)
  return { refundId, referenceId, amount, to, state, by: shownActor(by), at, accountNumber, receiptUrl }
}

function viewOfRepayment({ repaymentId, referenceId, amountMinor, state, by, at, accountNumber }: Repayment) {
  return { repaymentId, referenceId, amount: toJsonNumber(amountMinor), state, by: shownActor(by), at, accountNumber }
}

function payoutView(transfer: Transfer) {
  if (transfer.kind === 'deposit')
    return { claimedBy: null, claimedUntil: null, bankFile: null, bankRejection: null, approvedAmount: null }
  const { claim, approval, files } = transfer.payout
  const shown = isTerminal(transfer.status) ? null : claim
  const file = files.at(-1)
  return {
    claimedBy: shown ? shownActor(shown.by) : null,
    claimedUntil: file ? null : (shown?.until ?? null),
    bankFile: file?.messageId ?? null,
    bankRejection: transfer.rejection ? (transfer.rejection.reasonCode ?? 'NARR') : null,
    approvedAmount: approval ? toJsonNumber(approval.amountMinor) : null,
  }
}

/** Returns the view of an event in the history and the feed. */
export function viewOfEvent({ id, revision, event }: Pick<HistoryEntry<TransferEvent>, 'id' | 'revision' | 'event'>) {
  return { eventId: id, revision, type: event.type, at: event.data.at, data: viewOfData(event.data) }
}

export function viewOfHistory(entry: HistoryEntry<TransferEvent>) {
  const { actor, $correlationId } = entry.metadata
  return { ...viewOfEvent(entry), actor: shownActor(actor), correlationId: $correlationId }
}

/** Returns the actor as merchants may know it: the names of the operator's staff stay internal. */
export function shownActor(actor: string): string {
  return actor.startsWith('cli:') ? 'operator' : actor
}

/** Returns the fields that the API shows, with amounts as JSON numbers under the names of the API: `amountMinor` becomes `amount`. */
function viewOfData(data: object): { [field: string]: unknown } {
  const shown: { [field: string]: unknown } = {}
  for (const [field, value] of Object.entries(data)) {
    if (hiddenFields.has(field)) continue
    if (field === 'by' || (field === 'proposedBy' && value !== null)) shown[field] = shownActor(String(value))
    else if (typeof value === 'bigint') shown[field.slice(0, -'Minor'.length)] = toJsonNumber(value)
    else shown[field] = value
  }
  return shown
}
