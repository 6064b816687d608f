import { accept, type Decision, type Refused, refuse } from '../decider.js'
import type { DataOf } from '../event.js'
import { approvalRefusal, claimRefusal, stopRefusal } from './payout.js'
import { isTerminal } from './status.js'
import { commonFields, heldMinor, isLinked, refundableMinor, reservedMinor, type Transfer } from './transfer.js'
import type { Complete, GuardedAmount } from './transfer-commands.js'
import type { CancelReason, TransferEvent } from './transfer-events.js'

/** Returns a cancellation that leaves the money unchanged, unless `outcome` replaces it. */
export function cancelled(
  state: Transfer,
  at: string,
  reason: CancelReason,
  message: string | null,
  outcome: Partial<DataOf<TransferEvent, 'TransferCancelled'>> = {},
) {
  const { transactionAmountMinor, hasAmountMismatch, receiptUrl } = state
  const money = { transactionAmountMinor, receivedAmountMinor: 0n, hasAmountMismatch, receiptUrl }
  const none = { autoCancelledAmountMinor: null }
  return {
    type: 'TransferCancelled',
    data: { ...commonFields(state, at), message, reason, ...money, ...none, ...outcome },
  } as const
}

type Booking = Pick<Complete, 'receiptUrl' | 'message' | 'reason' | 'mismatchPolicy' | 'at'> & {
  readonly amountMinor: bigint
}

export function complete(command: Complete, state: Transfer): Decision<TransferEvent> {
  const { transactionAmountMinor: named } = command
  if (state.status === 'Completed') {
    const booked = state.transactionAmountMinor
    // Accepting a different amount would confirm an amount that is not booked.
    const isRepeat = named === undefined || named === booked
    return isRepeat ? accept() : refuse('conflict', 'booking-final', { booked, amount: named })
  }
  const amountMinor = named ?? expectedMinor(state)
  const cancelledFor = state.kind === 'deposit' ? state.autoCancelledAmountMinor : null
  // A repeat of the completion that cancelled the deposit succeeds regardless of the merchant's present policy.
  if (amountMinor !== undefined && amountMinor === cancelledFor) return accept()
  if (isTerminal(state.status)) return refuse('conflict', 'status-final', { status: state.status })
  const refusal = stopRefusal(command, state) ?? (command.isPaid ? undefined : claimRefusal(command, state))
  if (refusal) return refusal
  if (amountMinor === undefined) return refuse('conflict', 'amount-needed')
  return (
    reservedRefusal(amountMinor, state) ??
    missingReason(command, amountMinor, state) ??
    guardRefusal(command, amountMinor, state, isUnlikely(amountMinor, state, command.guardFactor)) ??
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
  const missing = state.kind === 'deposit' ? amountMinor - refundableMinor(state) : 0n
  const receivedAmountMinor = missing > 0n ? missing : 0n
  if (hasAmountMismatch && autoCancel && state.kind === 'deposit' && !state.reopened) {
    const transactionAmountMinor = heldMinor(state.funds) + receivedAmountMinor
    const money = { transactionAmountMinor, receivedAmountMinor, hasAmountMismatch }
    const outcome = { ...money, receiptUrl, autoCancelledAmountMinor: amountMinor }
    return accept(cancelled(state, at, 'amount-mismatch', message ?? 'amount mismatch', outcome))
  }
  const money = { transactionAmountMinor: amountMinor, receivedAmountMinor, hasAmountMismatch }
  const outcome = { ...money, receiptUrl, message, reason }
  return accept({ type: 'TransferCompleted', data: { ...commonFields(state, at), ...outcome } })
}

/** Returns whether an amount above 0 differs from the requested one by more than the tolerance. */
export function isMismatch(amountMinor: bigint, { amountMinor: requested }: Transfer, toleranceMinor: bigint): boolean {
  const difference = amountMinor - requested
  return amountMinor > 0n && (difference > toleranceMinor || -difference > toleranceMinor)
}

/** A refund or a repayment pays exactly the money that it reserves, and a deposit does not book that money. */
function reservedRefusal(amountMinor: bigint, state: Transfer): Refused | undefined {
  if (state.kind === 'withdrawal') {
    const isOther = isLinked(state) && amountMinor !== state.amountMinor
    return isOther ? refuse('conflict', 'linked-amount-fixed', { requested: state.amountMinor }) : undefined
  }
  const left = refundableMinor(state)
  const isReserved = reservedMinor(state) > 0n && amountMinor > left
  return isReserved ? refuse('conflict', 'money-in-refund', { left }) : undefined
}

/** Returns the amount of a completion that names none, or `undefined` if money was received and none of it is available. */
export function expectedMinor(state: Transfer): bigint | undefined {
  if (state.kind === 'withdrawal' || state.funds.receivedMinor === 0n) return state.amountMinor
  const left = refundableMinor(state)
  return left > 0n ? left : undefined
}

function missingReason({ reason }: Complete, amountMinor: bigint, state: Transfer): Refused | undefined {
  if (state.kind === 'withdrawal' || state.funds.receivedMinor === 0n || reason !== null) return undefined
  const left = refundableMinor(state)
  return amountMinor === left ? undefined : refuse('conflict', 'reason-needed', { left })
}

/** Returns whether an amount that moved is probably mistyped, such as ten times the requested one. */
export function isUnlikely(
  amountMinor: bigint,
  { kind, amountMinor: requested }: Transfer,
  guardFactor: number,
): boolean {
  const factor = BigInt(guardFactor)
  const paysMore = kind === 'withdrawal' && amountMinor > requested
  return paysMore || amountMinor > requested * factor || amountMinor * factor < requested
}

/** Rejects an unlikely amount that is not confirmed, and a confirmation of a different amount. */
export function guardRefusal(
  { confirmedAmountMinor: confirmed }: Pick<GuardedAmount, 'confirmedAmountMinor'>,
  amount: bigint,
  { amountMinor: requested }: Transfer,
  isUnlikely: boolean,
): Refused | undefined {
  if (confirmed !== undefined) {
    return confirmed === amount ? undefined : refuse('conflict', 'confirmation-differs', { confirmed, amount })
  }
  return isUnlikely ? refuse('conflict', 'confirmation-needed', { requested, amount }) : undefined
}
