import { accept, type Decision, type Refused, refuse } from '../../kernel/decision.js'
import { common } from './event-data.js'
import { isTerminal, type Transfer, type Withdrawal } from './transfer.js'
import type { Approve, Claim, Complete, Release, Settler } from './transfer-commands.js'
import type { TransferEvent } from './transfer-events.js'
import {
  claimedUntil,
  isRenewed,
  maxSteps,
  needsApproval,
  standingApproval,
  standingClaim,
} from './withdrawal-claims.js'

/** Withdrawals that people pay: one at a time, and above the merchant's threshold not without another's approval. */

export function claim({ by, payoutsStopped, at }: Claim, state: Transfer): Decision<TransferEvent> {
  const open = unlessPayable(state, payoutsStopped)
  if ('accepted' in open) return open
  const standing = standingClaim(open, at)
  if (standing && standing.by !== by) return claimedBy(standing)
  if (standing && !isRenewed(standing, at)) return accept()
  const { approval, steps } = open.payout
  if (approval?.by === by) return refuse('conflict', 'four-eyes')
  if (steps >= maxSteps) return tooMany()
  return accept({ type: 'WithdrawalClaimed', data: { ...common(open, at), by, until: claimedUntil(at) } })
}

export function release({ by, at }: Release, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'withdrawal') return notWithdrawal()
  const standing = standingClaim(state, at)
  if (!standing) return accept()
  if (standing.by !== by) return claimedBy(standing)
  return accept({ type: 'WithdrawalReleased', data: { ...common(state, at), by } })
}

export function approve(command: Approve, state: Transfer): Decision<TransferEvent> {
  const open = unlessPayable(state, command.payoutsStopped)
  if ('accepted' in open) return open
  const { by, amountMinor: approvedAmountMinor = open.amountMinor, approvalAboveMinor, at } = command
  if (!needsApproval(open, approvedAmountMinor, approvalAboveMinor)) {
    return refuse('conflict', 'approval-not-needed')
  }
  const { claimants, steps } = open.payout
  if (claimants.includes(by)) return refuse('conflict', 'four-eyes')
  if (standingApproval(open, approvedAmountMinor)) return accept()
  if (steps >= maxSteps) return tooMany()
  const data = { ...common(open, at), by, accountNumber: open.accountNumber, approvedAmountMinor }
  return accept({ type: 'WithdrawalApproved', data })
}

/** Why nobody may pay it now; undefined when payouts go on. Money that came in is booked in any case. */
export function stopRefusal(
  { payoutsStopped }: { readonly payoutsStopped?: boolean | undefined },
  state: Transfer,
): Refused | undefined {
  return payoutsStopped && state.kind === 'withdrawal' ? refuse('conflict', 'payouts-stopped') : undefined
}

/** Why this one may not settle it now; undefined when nothing is in the way. A deposit has no claims. */
export function claimRefusal({ by, underClaim, at }: Settler, state: Transfer): Refused | undefined {
  if (state.kind === 'deposit') return undefined
  const standing = standingClaim(state, at)
  if (standing) return standing.by === by ? undefined : claimedBy(standing)
  if (!underClaim) return undefined
  const { claim } = state.payout
  if (claim?.by !== by) return refuse('conflict', 'claim-needed')
  return refuse('conflict', 'claim-expired', { until: claim.until })
}

/** Why so much may not be paid; undefined when it may. */
export function approvalRefusal(
  { by, approvalAboveMinor }: Pick<Complete, 'by' | 'approvalAboveMinor'>,
  state: Transfer,
  amountMinor: bigint,
): Refused | undefined {
  if (!needsApproval(state, amountMinor, approvalAboveMinor)) return undefined
  const approval = standingApproval(state, amountMinor)
  if (!approval) return refuse('conflict', 'approval-needed', { amount: amountMinor })
  return approval.by === by ? refuse('conflict', 'four-eyes') : undefined
}

function unlessPayable(state: Transfer, payoutsStopped: boolean | undefined): Withdrawal | Refused {
  if (state.kind !== 'withdrawal') return notWithdrawal()
  if (isTerminal(state.status)) return refuse('conflict', 'status-final', { status: state.status })
  return stopRefusal({ payoutsStopped }, state) ?? state
}

function notWithdrawal(): Refused {
  return refuse('conflict', 'withdrawal-required')
}

function claimedBy({ by, until }: { readonly by: string; readonly until: string }): Refused {
  return refuse('conflict', 'claimed-by-another', { by, until })
}

function tooMany(): Refused {
  return refuse('conflict', 'claim-limit', { most: maxSteps })
}
