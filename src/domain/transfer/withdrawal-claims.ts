import { addMs, minuteMs } from '../../kernel/time.js'
import type { Approval, Claim } from './payout.js'
import { isTerminal, type Transfer } from './transfer.js'

const claimMs = 15 * minuteMs
/** A claim that lasts longer than this is not renewed: a page that claims every minute must not fill the stream. */
const renewedWithinMs = 5 * minuteMs
/** Whoever claims and releases in a loop is stopped; people need a few. */
export const maxSteps = 200

export function claimedUntil(at: string): string {
  return addMs(at, claimMs)
}

export function isRenewed({ until }: Claim, at: string): boolean {
  return addMs(at, renewedWithinMs) >= until
}

/** The claim under which a withdrawal is being paid at that moment; null when anybody may claim it. */
export function standingClaim(transfer: Transfer, at: string): Claim | null {
  if (transfer.kind === 'deposit' || isTerminal(transfer.status)) return null
  const { claim } = transfer.payout
  return claim && at < claim.until ? claim : null
}

/** The merchant wants a second person for a payment of this amount (minor units). `approvalAboveMinor`: null is never. */
export function needsApproval(transfer: Transfer, amountMinor: bigint, approvalAboveMinor: bigint | null): boolean {
  if (transfer.kind === 'deposit' || approvalAboveMinor === null) return false
  return amountMinor > approvalAboveMinor || transfer.amountMinor > approvalAboveMinor
}

/** The approval, where it is for what is to be paid. */
export function standingApproval(transfer: Transfer, amountMinor: bigint): Approval | null {
  if (transfer.kind === 'deposit') return null
  const { accountNumber, payout } = transfer
  const { approval } = payout
  return approval?.amountMinor === amountMinor && approval.accountNumber === accountNumber ? approval : null
}
