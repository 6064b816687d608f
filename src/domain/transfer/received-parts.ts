import { addMs, dayMs } from '../../kernel/time.js'
import { accept, type Decision, refuse } from '../decider.js'
import { formatTwoDecimals } from '../money.js'
import { book, guardRefusal, isMismatch } from './completion.js'
import {
  availableMinor,
  commonFields,
  type Deposit,
  evolve,
  heldMinor,
  refundableMinor,
  type Transfer,
} from './transfer.js'
import type { ReceiveFunds, ReceivePart } from './transfer-commands.js'
import type { TransferEvent } from './transfer-events.js'

// Money that arrives for a deposit: from a wallet in one amount, or by manual payments that add up.

/** A deposit that holds a part of its money stays open for this long after its first part. */
const partDays = 14
/** The number of payments of one deposit. Each is kept in its state. */
const maxPayments = 100

/** Completes a Pending deposit with any amount, unless the merchant wants it to be reviewed. */
export function receiveFunds(command: ReceiveFunds, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'deposit') return refuse('conflict', 'deposit-required')
  const { receivedAmountMinor, receiptUrl, mismatchPolicy, at } = command
  // The deposit already holds a part if its method was manual when it arrived.
  const sumMinor = refundableMinor(state) + receivedAmountMinor
  const isHeld = needsReview(command, sumMinor, state)
  if (state.status === 'Pending' && !isHeld) {
    const texts = { receiptUrl, message: null, reason: null }
    return book({ amountMinor: sumMinor, ...texts, mismatchPolicy, at }, state)
  }
  const hasAmountMismatch = mismatchAfter(state, receivedAmountMinor, mismatchPolicy.toleranceMinor)
  const data = { ...commonFields(state, at), receivedAmountMinor, receiptUrl, hasAmountMismatch, reference: null }
  const received = { type: 'LateFundsReceived', data } as const
  // Record the money before the status change, because the callback for that status includes the received amount.
  if (state.status === 'Pending') return accept<TransferEvent>(received, heldForReview(command, sumMinor, state))
  return accept(received)
}

/** A payment completes a Pending deposit together with the earlier ones. On any other it is recorded. */
export function receivePart(command: ReceivePart, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'deposit') return refuse('conflict', 'deposit-required')
  const { receivedAmountMinor, receiptUrl, reference, toleranceMinor, at } = command
  const { payments } = state.funds
  const earlier = payments.find((payment) => payment.reference === reference)
  if (earlier?.amountMinor === receivedAmountMinor) return accept()
  if (earlier) return refuse('conflict', 'payment-recorded', { reference, received: earlier.amountMinor })
  if (!command.isManual) return refuse('conflict', 'manual-payment-required')
  if (payments.length >= maxPayments) return refuse('conflict', 'too-many-payments', { most: maxPayments })
  const sumMinor = refundableMinor(state) + receivedAmountMinor
  const isUnlikely = receivedAmountMinor > state.amountMinor * BigInt(command.guardFactor)
  const refusal = guardRefusal(command, receivedAmountMinor, state, isUnlikely)
  if (refusal) return refusal
  const hasAmountMismatch = mismatchAfter(state, receivedAmountMinor, toleranceMinor)
  const receipt = { ...commonFields(state, at), receivedAmountMinor, receiptUrl, hasAmountMismatch, reference }
  if (state.status !== 'Pending' && state.status !== 'ManualControl')
    return accept({ type: 'LateFundsReceived', data: receipt })
  const received = { type: 'FundsReceived', data: { ...receipt, openUntil: openUntil(state, at) } } as const
  if (state.status === 'ManualControl' || isMismatch(sumMinor, state, toleranceMinor)) return accept(received)
  if (needsReview(command, sumMinor, state))
    return accept<TransferEvent>(received, heldForReview(command, sumMinor, state))
  const mismatchPolicy = { toleranceMinor, autoCancel: false }
  const texts = { receiptUrl: null, message: null, reason: null }
  const completed = book({ amountMinor: sumMinor, ...texts, mismatchPolicy, at }, evolve(state, received) as Deposit)
  return completed.accepted ? accept<TransferEvent>(received, ...completed.events) : completed
}

/** Counts from the first of the parts that it holds, so that small payments do not keep a deposit open forever. */
function openUntil({ funds, expiresAt }: Deposit, at: string): string {
  return availableMinor(funds) > 0n ? expiresAt : addMs(at, partDays * dayMs)
}

function needsReview(
  { manualControlAboveMinor: limit }: Pick<ReceiveFunds, 'manualControlAboveMinor'>,
  amountMinor: bigint,
  state: Deposit,
): boolean {
  return limit !== null && (amountMinor > limit || state.amountMinor > limit)
}

function heldForReview(
  { manualControlAboveMinor: limit, at }: Pick<ReceiveFunds, 'manualControlAboveMinor' | 'at'>,
  amountMinor: bigint,
  state: Deposit,
) {
  const message = `${formatTwoDecimals(amountMinor)} was received; amounts above ${formatTwoDecimals(limit!)} are checked`
  return { type: 'TransferSentToManualControl', data: { ...commonFields(state, at), message } } as const
}

/** Returns whether the held money is a mismatch after a change of the amount. The booking of a completion keeps its result. */
export function mismatchAfter(state: Deposit, moreMinor: bigint, toleranceMinor: bigint): boolean {
  if (state.status === 'Completed') return state.hasAmountMismatch
  return isMismatch(heldMinor(state.funds) + moreMinor, state, toleranceMinor)
}
