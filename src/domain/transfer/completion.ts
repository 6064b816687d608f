import { accept, type Decision, type Refused, refuse } from '../../kernel/decision.js'
import { cancelled, common } from './event-data.js'
import { availableMinor, heldMinor } from './funds.js'
import { approvalRefusal, claimRefusal, stopRefusal } from './paying.js'
import { isTerminal, type Transfer } from './transfer.js'
import type { Complete } from './transfer-commands.js'
import type { TransferEvent } from './transfer-events.js'

/** The amount to book, and the policy for it. */
type Booking = Pick<Complete, 'receiptUrl' | 'message' | 'reason' | 'mismatchPolicy' | 'at'> & {
  readonly amountMinor: bigint
}

/** Completes a transfer because an actor states that the money moved. */
export function complete(command: Complete, state: Transfer): Decision<TransferEvent> {
  if (state.status === 'Completed') return repeat(command, state)
  const amountMinor = command.transactionAmountMinor ?? expectedMinor(state)
  if (isCancelledFor(amountMinor, state)) return accept()
  if (isTerminal(state.status)) return refuse('conflict', 'status-final', { status: state.status })
  const unpaid = stopRefusal(command, state) ?? claimRefusal(command, state)
  if (unpaid) return unpaid
  if (amountMinor === undefined) return refuse('conflict', 'amount-needed')
  return (
    missingReason(command, amountMinor, state) ??
    unlikelyAmount(command, amountMinor, state) ??
    approvalRefusal(command, state, amountMinor) ??
    book({ ...command, amountMinor }, state)
  )
}

/** Completes the transfer, or cancels it if the amount is a mismatch and the merchant does not accept mismatches. */
export function book(booking: Booking, state: Transfer): Decision<TransferEvent> {
  const { amountMinor, message, reason, at } = booking
  const { toleranceMinor, autoCancel } = booking.mismatchPolicy
  const hasAmountMismatch = isMismatch(amountMinor, state, toleranceMinor)
  const receiptUrl = booking.receiptUrl ?? state.receiptUrl
  if (hasAmountMismatch && autoCancel && state.kind === 'deposit' && !state.reopened) {
    const missing = amountMinor - availableMinor(state.funds)
    const transactionAmountMinor = heldMinor(state.funds) + (missing > 0n ? missing : 0n)
    const outcome = { transactionAmountMinor, hasAmountMismatch, receiptUrl, autoCancelledAmountMinor: amountMinor }
    return accept(cancelled(state, at, 'amount-mismatch', message ?? 'amount mismatch', outcome))
  }
  const outcome = { transactionAmountMinor: amountMinor, hasAmountMismatch, receiptUrl, message, reason }
  return accept({ type: 'TransferCompleted', data: { ...common(state, at), ...outcome } })
}

/** Returns whether an amount above 0 differs from the requested one by more than the tolerance. */
export function isMismatch(amountMinor: bigint, { amountMinor: requested }: Transfer, toleranceMinor: bigint): boolean {
  const difference = amountMinor - requested
  return amountMinor > 0n && (difference > toleranceMinor || -difference > toleranceMinor)
}

/** Returns the amount of a completion that names none, or `undefined` if money was received and none of it is available. */
function expectedMinor(state: Transfer): bigint | undefined {
  if (state.kind === 'withdrawal' || state.funds.receivedMinor === 0n) return state.amountMinor
  const left = availableMinor(state.funds)
  return left > 0n ? left : undefined
}

/** Rejects a different amount: accepting it would confirm an amount that is not booked. */
function repeat({ transactionAmountMinor: named }: Complete, state: Transfer): Decision<TransferEvent> {
  const booked = state.transactionAmountMinor
  if (named === undefined || named === booked) return accept()
  return refuse('conflict', 'booking-final', { booked, amount: named })
}

/**
 * Returns whether an earlier completion with this amount cancelled the deposit. Its repeat gets the same result, regardless of the
 * merchant's present policy. A deposit that was cancelled otherwise is rejected: accepting would report a booking that never happened.
 */
function isCancelledFor(amountMinor: bigint | undefined, state: Transfer): boolean {
  return state.kind === 'deposit' && amountMinor !== undefined && state.autoCancelledAmountMinor === amountMinor
}

function missingReason({ reason }: Complete, amountMinor: bigint, state: Transfer): Refused | undefined {
  if (state.kind === 'withdrawal' || state.funds.receivedMinor === 0n || reason !== null) return undefined
  const left = availableMinor(state.funds)
  return amountMinor === left ? undefined : refuse('conflict', 'reason-needed', { left })
}

/** Rejects an unconfirmed amount that is probably mistyped, such as ten times the requested one. */
function unlikelyAmount(command: Complete, amount: bigint, state: Transfer): Refused | undefined {
  const { confirmedAmountMinor: confirmed } = command
  if (confirmed !== undefined) {
    return confirmed === amount ? undefined : refuse('conflict', 'confirmation-differs', { confirmed, amount })
  }
  const factor = BigInt(command.guardFactor)
  const requested = state.amountMinor
  const paysMore = state.kind === 'withdrawal' && amount > requested
  const isFar = amount > requested * factor || amount * factor < requested
  return paysMore || isFar ? refuse('conflict', 'confirmation-needed', { requested, amount }) : undefined
}
