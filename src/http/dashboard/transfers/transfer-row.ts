import { activeClaim } from '../../../domain/transfer/settling.js'
import { needsAttention, type Transfer } from '../../../domain/transfer/transfer.js'
import type { FoundTransfer } from '../../../queries/transfer-queries.js'
import type { TransferRowView } from '../api.js'
import type { Viewer } from '../session-guard.js'

/** The viewer and the time. */
export interface Viewing {
  readonly viewer: Viewer
  readonly nameOf: (actor: string) => string
  /** ISO 8601. */
  readonly at: string
}

/** The user's id, or empty for other actors. */
export function userIdOf(actor: string): string {
  return actor.startsWith('user:') ? actor.slice('user:'.length) : ''
}

/** Returns a transfer as lists show it. */
export function rowOf({ transfer, revision }: FoundTransfer, viewing: Viewing): TransferRowView {
  const { kind } = transfer
  return {
    trackingId: transfer.trackingId,
    merchantId: transfer.merchantId,
    referenceId: transfer.referenceId,
    kind,
    status: transfer.status,
    amountMinor: Number(transfer.amountMinor),
    transactionAmountMinor: Number(transfer.transactionAmountMinor),
    hasAmountMismatch: transfer.hasAmountMismatch,
    needsAttention: needsAttention(transfer),
    paymentMethod: transfer.paymentMethod,
    userId: transfer.userId,
    name: transfer.name,
    username: transfer.username,
    accountNumber: kind === 'withdrawal' ? transfer.accountNumber : null,
    claim: claimOf(transfer, viewing),
    createdAt: transfer.createdAt,
    updatedAt: transfer.updatedAt,
    expiresAt: kind === 'deposit' ? transfer.expiresAt : null,
    revision,
  }
}

function claimOf(transfer: Transfer, { viewer, nameOf, at: now }: Viewing): TransferRowView['claim'] {
  const claim = activeClaim(transfer, now)
  if (!claim) return null
  const { by, at, until } = claim
  return { userId: userIdOf(by), name: nameOf(by), at, until, mine: by === `user:${viewer.userId}` }
}
