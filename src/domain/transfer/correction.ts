import { addMs, dayMs } from '../../kernel/time.js'
import { accept, type Decision, type Refused, refuse } from '../decider.js'
import type { DataOf } from '../event.js'
import { guardRefusal, isMismatch, isUnlikely } from './completion.js'
import { belowReturnedRefusal } from './returned-payouts.js'
import {
  availableMinor,
  commonFields,
  type Deposit,
  type Funds,
  isLinked,
  reservedMinor,
  type Transfer,
} from './transfer.js'
import type { ApproveCorrection, Correct, Correction } from './transfer-commands.js'
import type { TransferEvent } from './transfer-events.js'

// A completion whose amount was wrong. The history keeps both amounts, and the status stays.

/** The number of corrections and proposals of one transfer, so that a program in a loop does not fill the stream. */
const maxCorrections = 100

/** Merchants recognize a corrected amount by this message of the callback. */
const correctedMessage = 'amount corrected'

export function correct(command: Correct, state: Transfer): Decision<TransferEvent> {
  const { amountMinor, reason, reference, by, guardFactor, approvalAboveMinor: threshold, at } = command
  if (state.status !== 'Completed') return refuse('conflict', 'not-completed', { status: state.status })
  const { transactionAmountMinor: booked, proposedCorrection: proposed, corrections } = state
  // Without this, a repeat would undo a later correction.
  const earlier = corrections.find((each) => reference !== null && each.reference === reference)
  if (earlier?.amountMinor === amountMinor) return accept()
  if (earlier)
    return refuse('conflict', 'correction-recorded', { reference: reference!, corrected: earlier.amountMinor })
  if (amountMinor === booked) return accept()
  const refusal =
    lateRefusal(command, state) ??
    belowReturnedRefusal(amountMinor, state) ??
    refundRefusal(command, state) ??
    guardRefusal(command, amountMinor, state, isUnlikely(amountMinor, state, guardFactor))
  if (refusal) return refusal
  if (proposed?.amountMinor === amountMinor && proposed.by === by && proposed.reference === reference) return accept()
  if (corrections.length + state.proposals >= maxCorrections)
    return refuse('conflict', 'too-many-corrections', { most: maxCorrections })
  const correction = { by, reason, reference }
  const isLarge = [state.amountMinor, booked, amountMinor].some((each) => threshold !== null && each > threshold)
  if (!isLarge) return accept(corrected(command, { ...correction, proposedBy: null }, state))
  const data = { ...commonFields(state, at), ...correction, correctedAmountMinor: amountMinor }
  return accept({ type: 'CorrectionProposed', data })
}

export function approveCorrection(command: ApproveCorrection, state: Transfer): Decision<TransferEvent> {
  const { amountMinor, by } = command
  const { proposedCorrection: proposed, corrections, transactionAmountMinor: booked } = state
  if (!proposed) {
    const isRepeat = corrections.length > 0 && booked === amountMinor
    return isRepeat ? accept() : refuse('conflict', 'no-correction-proposed')
  }
  if (proposed.amountMinor !== amountMinor)
    return refuse('conflict', 'proposal-differs', { proposed: proposed.amountMinor, amount: amountMinor })
  if (proposed.by === by) return refuse('conflict', 'correction-four-eyes')
  const { reason, reference, by: proposedBy } = proposed
  const refusal =
    lateRefusal(command, state) ?? belowReturnedRefusal(amountMinor, state) ?? refundRefusal(command, state)
  return refusal ?? accept(corrected(command, { by, reason, reference, proposedBy }, state))
}

function lateRefusal(
  { correctionDays: days, at }: Pick<Correct, 'correctionDays' | 'at'>,
  { completedAt }: Transfer,
): Refused | undefined {
  const until = addMs(completedAt!, days * dayMs)
  return at < until ? undefined : refuse('conflict', 'correction-too-late', { days, until })
}

function corrected(
  { amountMinor, toleranceMinor, collectedMinor, at }: Correction,
  who: Pick<DataOf<TransferEvent, 'TransferCorrected'>, 'by' | 'proposedBy' | 'reason' | 'reference'>,
  state: Transfer,
) {
  const money = {
    transactionAmountMinor: amountMinor,
    previousAmountMinor: state.transactionAmountMinor,
    receivedAmountChangeMinor: state.kind === 'deposit' ? receivedAmountChange(state, amountMinor, collectedMinor) : 0n,
    hasAmountMismatch: isMismatch(amountMinor, state, toleranceMinor),
  }
  const data = { ...commonFields(state, at), ...who, ...money, message: correctedMessage }
  return { type: 'TransferCorrected', data } as const
}

/** A refund or a repayment was paid with exactly its amount. A deposit keeps at least the refunded and the reserved money. */
function refundRefusal({ amountMinor, collectedMinor }: Correction, state: Transfer): Refused | undefined {
  if (state.kind === 'withdrawal')
    return isLinked(state) ? refuse('conflict', 'linked-amount-fixed', { requested: state.amountMinor }) : undefined
  const { refundedMinor } = state.funds
  const reserved = reservedMinor(state)
  const recordedMinor = availableMinor(state.funds) - replaceableMinor(state.funds, collectedMinor)
  const lowest = recordedMinor >= reserved ? refundedMinor : refundedMinor + reserved
  return amountMinor < lowest ? refuse('conflict', 'correction-below-refunds', { lowest }) : undefined
}

/** Only the completion stated a part of the received money. The amount that the recorded money lacks for the new amount replaces this part. */
function receivedAmountChange({ funds }: Deposit, amountMinor: bigint, collectedMinor: bigint): bigint {
  const replaced = replaceableMinor(funds, collectedMinor)
  const missingMinor = amountMinor - (availableMinor(funds) + funds.refundedMinor - replaced)
  return (missingMinor > 0n ? missingMinor : 0n) - replaced
}

/** Returns the part of the stated money that the wallet did not collect. Recorded money can be the collected money, too. */
function replaceableMinor({ receivedMinor, statedMinor }: Funds, collectedMinor: bigint): bigint {
  const collected = collectedMinor - (receivedMinor - statedMinor)
  if (collected <= 0n) return statedMinor
  return collected < statedMinor ? statedMinor - collected : 0n
}
