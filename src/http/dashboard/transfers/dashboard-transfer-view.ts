import type { FastifyRequest } from 'fastify'
import type { FoundTransfer } from '../../../commands/transfer/transfer-requests.js'
import { isManual } from '../../../domain/payment-method.js'
import { type Actor, isPossible, possibleActions } from '../../../domain/transfer/allowed-actions.js'
import { expectedMinor } from '../../../domain/transfer/completion.js'
import { activeClaim, needsApproval, validApproval } from '../../../domain/transfer/payout.js'
import { isTerminal } from '../../../domain/transfer/status.js'
import {
  keptMinor,
  needsAttention,
  noFunds,
  type Refund,
  type Repayment,
  refundableMinor,
  requestOf,
  returnedMinor,
  type Transfer,
  undecidedMinor,
  unsettledMinor,
  waitsForRest,
} from '../../../domain/transfer/transfer.js'
import type { TransferKind } from '../../../domain/transfer/transfer-events.js'
import { isAllowed } from '../../../domain/user/permissions.js'
import type { ExceededLimit } from '../../../domain/withdrawal-limits.js'
import { UnreadableEventError } from '../../../event-store/event-codec.js'
import type { TransferDocument } from '../../../read-models/documents.js'
import { documentOf, transferOf } from '../../../read-models/transfer-document.js'
import { storedTrackingId } from '../../query-parameters.js'
import { RequestError } from '../../refusals.js'
import type { HttpServices } from '../../services.js'
import { permissionOf, type TransferDetail, type TransferRow } from '../api.js'
import { actorNames, sees } from '../session-guard.js'

/** Loads a transfer from the log. @throws RequestError if it is unknown or the viewer has no access to its merchant */
export async function seenTransfer(request: FastifyRequest, trackingId: string): Promise<FoundTransfer> {
  const found = await request.server.services.transfers.find(storedTrackingId(trackingId))
  if (!found || !sees(request.viewer, found.transfer.merchantId)) throw new RequestError('unknown-transfer')
  await refreshPayouts(request, [found.transfer])
  return found
}

/** Reads the payouts against which the limits of the transfers' merchants are shown. */
async function refreshPayouts(
  request: FastifyRequest,
  transfers: Iterable<{ readonly kind: TransferKind; readonly merchantId: string }>,
): Promise<void> {
  const { services } = request.server
  const ids = new Set([...transfers].flatMap(({ kind, merchantId }) => (kind === 'withdrawal' ? [merchantId] : [])))
  await Promise.all([...ids].map((id) => services.transfers.payouts.refresh(id, services.directory.byId(id)?.settings)))
}

/** Returns transfers as lists show them. */
export async function rowsOf(request: FastifyRequest, documents: readonly TransferDocument[]): Promise<TransferRow[]> {
  await refreshPayouts(request, documents)
  return documents.map((document) => rowOf(request, document))
}

/** Returns a transfer as lists show it. Payouts since the last list or detail do not count against its limits. */
export function rowOf(
  request: FastifyRequest,
  document: TransferDocument,
  transfer = transferOf(document),
): TransferRow {
  const { _id: trackingId, accountNumber = null, expiresAt = null } = document
  const claim = activeClaim(transfer, request.server.services.clock())
  const file = transfer.kind === 'withdrawal' ? transfer.payout.files.at(-1) : undefined
  const actor = actorOf(request, transfer)
  const awaitsApproval = isApprovalMissing(transfer, actor)
  const isOpen = document.kind === 'withdrawal' && !isTerminal(document.status)
  const isPayable = isOpen && isAllowed(request.viewer.role, permissionOf.claim)
  const isApprover = isAllowed(request.viewer.role, permissionOf.approve)
  const mine = claim?.by === userActor(request)
  return {
    trackingId,
    merchantId: document.merchantId,
    referenceId: document.referenceId,
    kind: document.kind,
    status: document.status,
    amountMinor: document.amountMinor,
    transactionAmountMinor: document.transactionAmountMinor,
    hasAmountMismatch: document.hasAmountMismatch,
    needsAttention: needsAttention(transfer),
    paymentMethod: document.paymentMethod,
    userId: document.userId,
    name: document.name,
    username: document.username,
    accountNumber,
    claim: claim && {
      ...personOf(request, claim.by),
      at: claim.at,
      until: claim.until,
      mine,
    },
    bankFile: file ? { messageId: file.messageId, name: actorNames(request)(file.by), at: file.at } : null,
    awaitsApproval,
    exceeded: exceededView(actor.exceeded),
    canApprove: awaitsApproval && isApprover && isPossible('approve', transfer, actor),
    canPay: isPayable && !awaitsApproval && (claim === null || mine),
    createdAt: document.createdAt,
    updatedAt: document.updatedAt,
    expiresAt,
    revision: document.revision,
  }
}

function isApprovalMissing(transfer: Transfer, actor: Actor): boolean {
  const { status, amountMinor } = transfer
  const isNeeded = !isTerminal(status) && needsApproval(transfer, amountMinor, actor)
  return isNeeded && validApproval(transfer, amountMinor) === null
}

/** Returns a complete transfer with the actions that the viewer can take. */
export async function detailOf(request: FastifyRequest, found: FoundTransfer): Promise<TransferDetail> {
  const { transfer, revision } = found
  const { receiptUrl, message, proposedCorrection: proposed } = transfer
  await refreshPayouts(request, [transfer])
  const payoutsStopped = await arePayoutsStopped(transfer, request.server.services)
  const actor = { ...actorOf(request, transfer), payoutsStopped }
  const funds = transfer.kind === 'deposit' ? transfer.funds : noFunds
  const money = transfer.kind === 'deposit' ? transfer.funds : transfer
  const approval = transfer.kind === 'withdrawal' ? transfer.payout.approval : null
  return {
    // No response shows the position.
    ...rowOf(request, documentOf(transfer, 0, revision), transfer),
    channel: transfer.kind === 'deposit' ? transfer.channel : null,
    ...requestOf(transfer),
    receiptUrl,
    message,
    receivedMinor: Number(funds.receivedMinor),
    returnedMinor: Number(returnedMinor(money)),
    refundedMinor: transfer.kind === 'deposit' ? Number(transfer.funds.refundedMinor) : 0,
    keptMinor: Number(transfer.kind === 'withdrawal' ? keptMinor(transfer) : 0n),
    resolvedMinor: Number(money.resolvedMinor),
    unsettledMinor: Number(unsettledMinor(transfer)),
    undecidedMinor: Number(undecidedMinor(transfer)),
    refundableMinor: transfer.kind === 'deposit' ? Number(refundableMinor(transfer)) : 0,
    walletRefund:
      transfer.kind === 'deposit' && !actor.isManual && request.server.services.transfers.rules.walletRefunds,
    refunds: transfer.kind === 'deposit' ? transfer.refunds.map((refund) => refundView(request, refund)) : [],
    refundOf: transfer.kind === 'withdrawal' ? transfer.refundOf : null,
    repayments: transfer.kind === 'withdrawal' ? transfer.repayments.map((each) => repaymentView(request, each)) : [],
    repaymentOf: transfer.kind === 'withdrawal' ? transfer.repaymentOf : null,
    expectedMinor: Number(expectedMinor(transfer) ?? 0n),
    waitsForRest: waitsForRest(transfer),
    payments: funds.payments.map(({ amountMinor, reference, receiptUrl, at }) => {
      return { amountMinor: Number(amountMinor), reference, receiptUrl, at }
    }),
    payoutReturns: (transfer.kind === 'withdrawal' ? transfer.returns : []).map(({ amountMinor, ...each }) => {
      return { ...each, amountMinor: Number(amountMinor) }
    }),
    bankPayments: transfer.bankPayments.map(({ reference: _, amountMinor, ...each }) => {
      return { ...each, amountMinor: Number(amountMinor) }
    }),
    rejection: transfer.kind === 'withdrawal' ? transfer.rejection : null,
    corrections: transfer.corrections.map(({ fromMinor }) => ({ fromMinor: Number(fromMinor) })),
    proposedCorrection: proposed && {
      ...personOf(request, proposed.by),
      at: proposed.at,
      amountMinor: Number(proposed.amountMinor),
      reason: proposed.reason,
    },
    approval: {
      needed: !isTerminal(transfer.status) && needsApproval(transfer, transfer.amountMinor, actor),
      by: approval && {
        ...personOf(request, approval.by),
        at: approval.at,
        amountMinor: Number(approval.amountMinor),
      },
    },
    actions: possibleActions(transfer, actor).filter((action) => isAllowed(request.viewer.role, permissionOf[action])),
    payoutsStopped,
  }
}

/** Returns whether payouts are stopped. This is only displayed, so a failure to read it does not fail the request. Commands check it again. */
async function arePayoutsStopped({ kind, status }: Transfer, { transfers }: HttpServices): Promise<boolean> {
  if (kind === 'deposit' || isTerminal(status)) return false
  try {
    return await transfers.arePayoutsStopped()
  } catch (error) {
    // If the decision cannot be read, nothing can be paid.
    return error instanceof UnreadableEventError
  }
}

function userActor({ viewer }: FastifyRequest): string {
  return `user:${viewer.userId}`
}

/** Returns the viewer in the form that the domain's rules require. */
export function actorOf(request: FastifyRequest, transfer: Transfer, amountMinor = transfer.amountMinor) {
  const { directory, clock, transfers } = request.server.services
  const { paymentMethods, correctionDays } = transfers.rules
  const at = clock()
  const settings = directory.byId(transfer.merchantId)?.settings
  const approvalAboveMinor = settings?.approvalAboveMinor ?? null
  const exceeded = settings ? transfers.payouts.knownExceeded(transfer, settings, amountMinor, at) : []
  const rules = { approvalAboveMinor, exceeded, isManual: isManual(paymentMethods, transfer.paymentMethod) }
  return { by: userActor(request), ...rules, correctionDays, at } satisfies Actor
}

/** Amounts are JSON numbers of minor units, as everywhere in the dashboard's API. */
function exceededView(exceeded: readonly ExceededLimit[]) {
  return exceeded.map((limit) => ({
    ...limit,
    amountMinor: limit.amountMinor === null ? null : Number(limit.amountMinor),
    actualMinor: Number(limit.actualMinor),
  }))
}

function repaymentView(request: FastifyRequest, repayment: Repayment) {
  const { repaymentId, referenceId, amountMinor, state, by, at, accountNumber } = repayment
  const payment = { amountMinor: Number(amountMinor), state, accountNumber }
  return { repaymentId, referenceId, ...payment, ...personOf(request, by), at }
}

function refundView(request: FastifyRequest, refund: Refund) {
  const { refundId, referenceId, amountMinor, to, state, by, at, accountNumber, receiptUrl } = refund
  const isApprover = isAllowed(request.viewer.role, permissionOf['approve-refund'])
  const canApprove = state === 'proposed' && isApprover && by !== userActor(request)
  const money = { amountMinor: Number(amountMinor), to, accountNumber, receiptUrl }
  return { refundId, referenceId, ...money, state, ...personOf(request, by), at, canApprove }
}

/** The id is empty for actors that are not users. */
function personOf(request: FastifyRequest, actor: string) {
  return { userId: actor.startsWith('user:') ? actor.slice('user:'.length) : '', name: actorNames(request)(actor) }
}
