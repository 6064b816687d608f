import { accept, type Decision, refuse } from '../decider.js'
import { complete } from './completion.js'
import { receivePart } from './received-parts.js'
import { isReturnReason } from './return-reasons.js'
import { returnPayout } from './returned-payouts.js'
import { commonFields, type Deposit, type MatchedPayment, type Transfer, type Withdrawal } from './transfer.js'
import type { MatchBankPayment } from './transfer-commands.js'
import type { BankEffect, TransferEvent } from './transfer-events.js'

// A bank's answer about a transfer: a payment of a statement, or the rejection of a payment. Each takes effect once.

/** The number of payments of one transfer. Each is kept in its state. */
const maxMatches = 200

interface Outcome {
  readonly effect: BankEffect
  readonly decision: Decision<TransferEvent>
  /** The reference of the transfer's payment or return that the match recorded or confirmed. */
  readonly reference: string | null
}

export function matchBankPayment(command: MatchBankPayment, state: Transfer): Decision<TransferEvent> {
  const { bankPaymentId, at } = command
  if (state.bankPayments.some((each) => each.bankPaymentId === bankPaymentId)) return accept()
  if (state.bankPayments.length >= maxMatches) return refuse('conflict', 'too-many-payments', { most: maxMatches })
  const outcome = outcomeOf(command, state)
  if ('accepted' in outcome) return outcome
  const { effect, decision, reference } = outcome
  if (!decision.accepted) return decision
  const { by, matchedAmountMinor, bookedOn, bankReference, bankReasonCode, bankReasonText } = command
  const stated = { matchedAmountMinor, bookedOn, bankReference, bankReasonCode, bankReasonText }
  const data = { ...commonFields(state, at), by, bankPaymentId, effect, reference, ...stated }
  return accept<TransferEvent>(...decision.events, { type: 'BankPaymentMatched', data })
}

function outcomeOf(command: MatchBankPayment, state: Transfer): Outcome | Decision<TransferEvent> {
  if (command.matched === 'credit')
    return state.kind === 'deposit' ? received(command, state) : refuse('conflict', 'deposit-required')
  if (state.kind === 'deposit') return refuse('conflict', 'withdrawal-required')
  if (command.matched === 'debit') return paid(command, state)
  return command.matched === 'return' ? cameBack(command, state) : rejected(state)
}

/** A withdrawal is paid by one payment only. If the bank pays it again, a person must find out why. */
function paid(command: MatchBankPayment, state: Withdrawal): Outcome | Decision<TransferEvent> {
  const earlier = state.bankPayments.find(({ effect }) => effect === 'completed' || effect === 'confirmed')
  if (earlier) return refuse('conflict', 'paid-before', { payment: earlier.bankPaymentId })
  const { matchedAmountMinor: amount } = command
  if (state.status === 'Completed') {
    const { transactionAmountMinor: booked } = state
    if (booked !== amount) return refuse('conflict', 'booking-final', { booked, amount })
    return { effect: 'confirmed', decision: accept(), reference: null }
  }
  const texts = { receiptUrl: null, message: null, reason: null }
  const amounts = { transactionAmountMinor: amount, confirmedAmountMinor: amount, guardFactor: 1 }
  // The bank has paid the file, so the claim of the user who produced it holds the withdrawal no longer.
  const isPaid = state.payout.files.length > 0
  const decision = complete({ ...command, ...texts, ...amounts, type: 'Complete', isPaid }, state)
  return { effect: 'completed', decision, reference: null }
}

/** Money that a user recorded before the statement arrived is confirmed, and not received a second time. */
function received(command: MatchBankPayment, state: Deposit): Outcome {
  const { matchedAmountMinor: receivedAmountMinor, mismatchPolicy, isManual, manualControlAboveMinor, at } = command
  const { payments, statedMinor } = state.funds
  const recorded = recordedAs(command, payments, state)
  if (recorded) return { effect: 'confirmed', decision: accept(), reference: recorded.reference }
  const isStated = state.status === 'Completed' && statedMinor === receivedAmountMinor
  if (isStated && state.bankPayments.length === 0) return { effect: 'confirmed', decision: accept(), reference: null }
  const reference = freeReference(command, payments)
  const amounts = { receivedAmountMinor, confirmedAmountMinor: receivedAmountMinor, guardFactor: 1 }
  const rules = { toleranceMinor: mismatchPolicy.toleranceMinor, manualControlAboveMinor, isManual }
  const part = { type: 'ReceivePart', ...amounts, ...rules, reference, receiptUrl: null, at } as const
  return { effect: 'received', decision: receivePart(part, state), reference }
}

function cameBack(command: MatchBankPayment, state: Withdrawal): Outcome {
  const { matchedAmountMinor: returnedAmountMinor, bankReasonCode, callbackOnMoney, by, at } = command
  const recorded = recordedAs(command, state.returns, state)
  if (recorded) return { effect: 'returned', decision: accept(), reference: recorded.reference }
  const reference = freeReference(command, state.returns)
  const reasonCode = bankReasonCode !== null && isReturnReason(bankReasonCode) ? bankReasonCode : 'NARR'
  const money = { returnedAmountMinor, reasonCode, reference, receiptUrl: null } as const
  const decision = returnPayout({ type: 'ReturnPayout', ...money, callbackOnMoney, by, at }, state)
  return { effect: 'returned', decision, reference }
}

function rejected(state: Withdrawal): Outcome | Decision<TransferEvent> {
  const { status, payout } = state
  if (status === 'Cancelled' || status === 'Failed') return refuse('conflict', 'status-final', { status })
  if (payout.files.length === 0) return refuse('conflict', 'not-in-bank-file')
  return { effect: 'rejected', decision: accept(), reference: null }
}

type Recorded = { readonly reference: string; readonly amountMinor: bigint }

/** Returns what a user recorded with the bank's reference, unless another payment of the bank confirmed it already. */
function recordedAs(
  { bankReference, matchedAmountMinor }: MatchBankPayment,
  all: readonly Recorded[],
  { bankPayments }: { readonly bankPayments: readonly MatchedPayment[] },
): Recorded | undefined {
  const found = all.find(({ reference }) => reference === bankReference)
  const isConfirmed = bankPayments.some(({ reference }) => reference === found?.reference)
  return found?.amountMinor === matchedAmountMinor && !isConfirmed ? found : undefined
}

/** Banks use a reference for several payments at times, and the second one is other money. */
function freeReference({ bankReference, bankPaymentId }: MatchBankPayment, all: readonly Recorded[]): string {
  const isFree = bankReference !== null && !all.some(({ reference }) => reference === bankReference)
  return isFree ? bankReference : bankPaymentId
}
