import { accept, type Decision, type Refused, refuse } from '../../kernel/decision.js'
import { cancelled, common } from './event-data.js'
import { availableMinor, heldMinor } from './funds.js'
import { approvalRefusal, claimRefusal, stopRefusal } from './paying.js'
import { isTerminal, type Transfer } from './transfer.js'
import type { Complete } from './transfer-commands.js'
import type { TransferEvent } from './transfer-events.js'

/** What is booked, and how it is judged. */
export type Booking = Pick<Complete, 'receiptUrl' | 'message' | 'reason' | 'mismatchPolicy' | 'at'> & {
  readonly amountMinor: bigint
}

/** A person says that the money moved. */
export function complete(command: Complete, state: Transfer): Decision<TransferEvent> {
  if (state.status === 'Completed') return repeat(command, state)
  const amountMinor = command.transactionAmountMinor ?? expectedMinor(state)
  if (isCancelledFor(amountMinor, state)) return accept()
  if (isTerminal(state.status)) return refuse('conflict', 'status-final', { status: state.status })
  const unpaid = stopRefusal(command, state) ?? claimRefusal(command, state)
  if (unpaid) return unpaid
  if (amountMinor === undefined) {
    return refuse('conflict', 'amount-needed')
  }
  return (
    withoutReason(command, amountMinor, state) ??
    unlikely(command, amountMinor, state) ??
    approvalRefusal(command, state, amountMinor) ??
    book({ ...command, amountMinor }, state)
  )
}

/** Completes, or cancels where the amount is not the requested one and the merchant wants none of those. */
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

/** Whether an amount (0 is none) is another than requested, by more than the tolerance. */
export function isMismatch(amountMinor: bigint, { amountMinor: requested }: Transfer, toleranceMinor: bigint): boolean {
  const difference = amountMinor - requested
  return amountMinor > 0n && (difference > toleranceMinor || -difference > toleranceMinor)
}

/** What a completion means that names no amount; undefined when money came and nothing of it is left. */
function expectedMinor(state: Transfer): bigint | undefined {
  if (state.kind === 'withdrawal' || state.funds.receivedMinor === 0n) return state.amountMinor
  const left = availableMinor(state.funds)
  return left > 0n ? left : undefined
}

/** Refuses a different amount: to accept it would confirm an amount that is not booked. */
function repeat({ transactionAmountMinor: named }: Complete, state: Transfer): Decision<TransferEvent> {
  const booked = state.transactionAmountMinor
  if (named === undefined || named === booked) return accept()
  return refuse('conflict', 'booking-final', { booked, amount: named })
}

/**
 * What an earlier completion did stays its answer, whatever the merchant's policy has become since. A deposit cancelled in
 * any other way is no repeat: to accept would tell the operator that money was booked which was not.
 */
function isCancelledFor(amountMinor: bigint | undefined, state: Transfer): boolean {
  return state.kind === 'deposit' && amountMinor !== undefined && state.autoCancelledAmountMinor === amountMinor
}

function withoutReason({ reason }: Complete, amountMinor: bigint, state: Transfer): Refused | undefined {
  if (state.kind === 'withdrawal' || state.funds.receivedMinor === 0n || reason !== null) return undefined
  const left = availableMinor(state.funds)
  return amountMinor === left ? undefined : refuse('conflict', 'reason-needed', { left })
}

/** A slip of the keyboard pays ten times as much. */
function unlikely(command: Complete, amount: bigint, state: Transfer): Refused | undefined {
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
