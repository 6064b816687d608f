import { addMs, minuteMs } from '../../kernel/time.js'
import { accept, type Decision, type Refused, refuse } from '../decider.js'
import { isTerminal } from './status.js'
import { type Approval, type Claim, commonFields, stepsBy, type Transfer, type Withdrawal } from './transfer.js'
import type {
  AddToBankFile,
  ApprovalRules,
  Approve,
  Claim as ClaimCommand,
  Release,
  Settler,
} from './transfer-commands.js'
import type { TransferEvent } from './transfer-events.js'

// Withdrawals that operators pay: one claimant at a time, and above the merchant's threshold or beyond its limits
// with the approval of a second person.

const claimMs = 15 * minuteMs
/** A claim with more time left than this is not renewed, so that a page that claims every minute does not fill the stream. */
const renewedWithinMs = 5 * minuteMs
/** Stops an actor who claims and releases in a loop, and no one else. A withdrawal usually needs a few steps. */
export const maxSteps = 200

export function claim({ by, payoutsStopped, at }: ClaimCommand, state: Transfer): Decision<TransferEvent> {
  const open = unlessPayable(state, payoutsStopped)
  if ('accepted' in open) return open
  const active = activeClaim(open, at)
  if (active && active.by !== by) return claimedBy(active)
  if (active && (active.until === null || addMs(at, renewedWithinMs) < active.until)) return accept()
  if (open.payout.approval?.by === by) return refuse('conflict', 'four-eyes')
  if (stepsBy(by, open.payout) >= maxSteps) return tooManySteps()
  return accept({ type: 'WithdrawalClaimed', data: { ...commonFields(open, at), by, until: addMs(at, claimMs) } })
}

export function release({ by, underClaim, at }: Release, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'withdrawal') return refuse('conflict', 'withdrawal-required')
  const active = activeClaim(state, at)
  if (!active) return accept()
  if (underClaim && active.by !== by) return claimedBy(active)
  return accept({ type: 'WithdrawalReleased', data: { ...commonFields(state, at), by } })
}

/**
 * A second file needs a reason that names the first one, because the bank may have paid it. A reason that names an earlier file does not
 * cover one that its user has not seen. The record claims the withdrawal until it has ended.
 */
export function addToBankFile(command: AddToBankFile, state: Transfer): Decision<TransferEvent> {
  const open = unlessPayable(state, command.payoutsStopped)
  if ('accepted' in open) return open
  const { by, messageId, format, sha256, payingAccountId, repeat, at } = command
  const refusal = claimRefusal(command, open) ?? approvalRefusal(command, open, open.amountMinor)
  if (refusal) return refusal
  const last = open.payout.files.at(-1)
  const reason = last && repeat?.files.includes(last.messageId) ? repeat.reason : null
  if (last && reason === null)
    return refuse('conflict', 'in-bank-file', { file: last.messageId, by: last.by, done: last.at })
  if (open.payout.approval?.by === by) return refuse('conflict', 'four-eyes')
  if (stepsBy(by, open.payout) >= maxSteps) return tooManySteps()
  return accept({
    type: 'WithdrawalAddedToBankFile',
    data: { ...commonFields(open, at), by, messageId, format, sha256, reason, payingAccountId },
  })
}

export function approve(command: Approve, state: Transfer): Decision<TransferEvent> {
  const open = unlessPayable(state, command.payoutsStopped)
  if ('accepted' in open) return open
  const { by, amountMinor: approvedAmountMinor = open.amountMinor, at } = command
  if (!needsApproval(open, approvedAmountMinor, command)) return refuse('conflict', 'approval-not-needed')
  if (open.payout.claimants.includes(by)) return refuse('conflict', 'four-eyes')
  if (validApproval(open, approvedAmountMinor)) return accept()
  if (stepsBy(by, open.payout) >= maxSteps) return tooManySteps()
  const data = { ...commonFields(open, at), by, accountNumber: open.accountNumber, approvedAmountMinor }
  return accept({ type: 'WithdrawalApproved', data })
}

/** Returns the refusal of any payment while payouts are stopped. Received money is booked regardless. */
export function stopRefusal(
  { payoutsStopped }: { readonly payoutsStopped?: boolean | undefined },
  state: Transfer,
): Refused | undefined {
  return payoutsStopped && state.kind === 'withdrawal' ? refuse('conflict', 'payouts-stopped') : undefined
}

/** Returns why this actor cannot settle the transfer now, or `undefined`. A deposit has no claims. */
export function claimRefusal({ by, underClaim, at }: Settler, state: Transfer): Refused | undefined {
  if (state.kind === 'deposit') return undefined
  const active = activeClaim(state, at)
  if (active) return active.by === by ? undefined : claimedBy(active)
  if (!underClaim) return undefined
  const { claim } = state.payout
  if (claim?.by !== by) return refuse('conflict', 'claim-needed')
  return refuse('conflict', 'claim-expired', { until: claim.until })
}

export function approvalRefusal(
  command: ApprovalRules & { readonly by: string },
  state: Transfer,
  amountMinor: bigint,
): Refused | undefined {
  if (!needsApproval(state, amountMinor, command)) return undefined
  const approval = validApproval(state, amountMinor)
  if (approval) return approval.by === command.by ? refuse('conflict', 'four-eyes') : undefined
  const { exceeded = [] } = command
  if (exceeded.length > 0) return refuse('conflict', 'limit-exceeded', { amount: amountMinor, exceeded })
  return refuse('conflict', 'approval-needed', { amount: amountMinor })
}

/** A claim in effect. `until` is null while a bank may be paying a file that contains the withdrawal. */
type ActiveClaim = Omit<Claim, 'until'> & { readonly until: string | null; readonly file: string | null }

/** Returns the claim under which a withdrawal is being paid at that time, or null if anyone can claim it. */
export function activeClaim(transfer: Transfer, at: string): ActiveClaim | null {
  if (transfer.kind === 'deposit' || isTerminal(transfer.status)) return null
  const { claim, files } = transfer.payout
  const file = files.at(-1)?.messageId ?? null
  if (!claim || (file === null && at >= claim.until)) return null
  return { ...claim, until: file === null ? claim.until : null, file }
}

/** Returns whether a payment of this amount needs an approval. */
export function needsApproval(
  transfer: Transfer,
  amountMinor: bigint,
  { approvalAboveMinor, exceeded = [] }: ApprovalRules,
): boolean {
  if (transfer.kind === 'deposit') return false
  if (exceeded.length > 0) return true
  if (approvalAboveMinor === null) return false
  return amountMinor > approvalAboveMinor || transfer.amountMinor > approvalAboveMinor
}

/** Returns the approval if it covers a payment of this amount to the withdrawal's account. */
export function validApproval(transfer: Transfer, amountMinor: bigint): Approval | null {
  if (transfer.kind === 'deposit') return null
  const { accountNumber, payout } = transfer
  const { approval } = payout
  return approval?.amountMinor === amountMinor && approval.accountNumber === accountNumber ? approval : null
}

function unlessPayable(state: Transfer, payoutsStopped: boolean | undefined): Withdrawal | Refused {
  if (state.kind !== 'withdrawal') return refuse('conflict', 'withdrawal-required')
  if (isTerminal(state.status)) return refuse('conflict', 'status-final', { status: state.status })
  return stopRefusal({ payoutsStopped }, state) ?? state
}

function claimedBy({ by, until, file }: ActiveClaim): Refused {
  if (until !== null) return refuse('conflict', 'claimed-by-another', { by, until })
  return refuse('conflict', 'held-in-bank-file', { by, file: file! })
}

const tooManySteps = (): Refused => refuse('conflict', 'claim-limit', { most: maxSteps })
