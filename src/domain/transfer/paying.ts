import { accept, type Decision, refuse } from '../../kernel/decision.js'
import { formatTwoDecimals } from '../money.js'
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

type Refused = Extract<Decision<never>, { accepted: false }>

export function claim({ by, payoutsStopped, at }: Claim, state: Transfer): Decision<TransferEvent> {
  const open = unlessPayable(state, payoutsStopped)
  if ('accepted' in open) return open
  const standing = standingClaim(open, at)
  if (standing && standing.by !== by) return claimedBy(standing)
  if (standing && !isRenewed(standing, at)) return accept()
  const { approval, steps } = open.payout
  if (approval?.by === by) return refuse('conflict', 'Whoever approved a withdrawal does not pay it.', 'four-eyes')
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
    return refuse('conflict', 'This withdrawal needs no approval.')
  }
  const { claimants, steps } = open.payout
  if (claimants.includes(by)) {
    return refuse('conflict', 'Whoever claimed a withdrawal does not approve it.', 'four-eyes')
  }
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
  if (!payoutsStopped || state.kind === 'deposit') return undefined
  const message = 'Payouts are stopped, as the log does not verify: an administrator decides when they go on.'
  return refuse('conflict', message, 'payouts-stopped')
}

/** Why this one may not settle it now; undefined when nothing is in the way. A deposit has no claims. */
export function claimRefusal({ by, underClaim, at }: Settler, state: Transfer): Refused | undefined {
  if (state.kind === 'deposit') return undefined
  const standing = standingClaim(state, at)
  if (standing) return standing.by === by ? undefined : claimedBy(standing)
  if (!underClaim) return undefined
  const { claim } = state.payout
  if (claim?.by !== by) return refuse('conflict', 'To settle a withdrawal, claim it first.', 'claim-needed')
  return refuse('conflict', `Your claim ended at ${claim.until}: claim it again before you go on.`, 'claim-expired')
}

/** Why so much may not be paid; undefined when it may. */
export function approvalRefusal(
  { by, approvalAboveMinor }: Pick<Complete, 'by' | 'approvalAboveMinor'>,
  state: Transfer,
  amountMinor: bigint,
): Refused | undefined {
  if (!needsApproval(state, amountMinor, approvalAboveMinor)) return undefined
  const approval = standingApproval(state, amountMinor)
  if (!approval) {
    const wanted = `${formatTwoDecimals(amountMinor)} to this account`
    return refuse('conflict', `Somebody else must approve ${wanted} before it is completed.`, 'approval-needed')
  }
  if (approval.by !== by) return undefined
  return refuse('conflict', 'Whoever approved a withdrawal does not complete it.', 'four-eyes')
}

function unlessPayable(state: Transfer, payoutsStopped: boolean | undefined): Withdrawal | Refused {
  if (state.kind !== 'withdrawal') return notWithdrawal()
  if (isTerminal(state.status)) return refuse('conflict', `The transfer is ${state.status}, which is final.`, 'final')
  return stopRefusal({ payoutsStopped }, state) ?? state
}

function notWithdrawal(): Refused {
  return refuse('conflict', 'Only a withdrawal is claimed and approved.')
}

function claimedBy({ by, until }: { readonly by: string; readonly until: string }): Refused {
  return refuse('conflict', `It is claimed by ${by} until ${until}.`, 'claimed')
}

function tooMany(): Refused {
  return refuse('conflict', `It was claimed and approved ${maxSteps} times: only the operator can settle it.`)
}
