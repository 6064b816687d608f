import { accept, type Decider, type Decision, refuse } from '../decider.js'
import { matchBankPayment } from './bank-matches.js'
import { cancelled, complete } from './completion.js'
import { approveCorrection, correct } from './correction.js'
import { addToBankFile, approve, claim, claimRefusal, release } from './payout.js'
import { receiveFunds, receivePart } from './received-parts.js'
import { approveRefund, completeRefund, endRefund, requestRefund, returnFunds } from './refund.js'
import { endRepayment, requestRepayment } from './repayment.js'
import { isSameRequest, payeeFields, requestedFields, statedFields } from './requested-fields.js'
import { returnPayout } from './returned-payouts.js'
import { isTerminal, type Status } from './status.js'
import {
  commonFields,
  evolve,
  initialState,
  isErased,
  isResolvable,
  type Transfer,
  type TransferState,
  undecidedMinor,
} from './transfer.js'
import type { CreateDeposit, CreateWithdrawal, Settler, TransferCommand } from './transfer-commands.js'
import type { TransferCreated, TransferEvent } from './transfer-events.js'

export const transferDecider: Decider<TransferState, TransferCommand, TransferEvent> = { initialState, decide, evolve }

export function decide(command: TransferCommand, state: TransferState): Decision<TransferEvent> {
  if (command.type === 'CreateDeposit' || command.type === 'CreateWithdrawal') return create(command, state)
  if (state.kind === 'none') return refuse('not-found', 'unknown-transfer')
  const { at } = command
  switch (command.type) {
    case 'Complete':
      return complete(command, state)
    case 'SendToManualControl':
    case 'Fail': {
      const data = { ...commonFields(state, at), message: command.message }
      return command.type === 'Fail'
        ? moveTo('Failed', command, state, { type: 'TransferFailed', data })
        : moveTo('ManualControl', command, state, { type: 'TransferSentToManualControl', data })
    }
    case 'Cancel':
      return moveTo('Cancelled', command, state, cancelled(state, at, 'requested', command.message))
    case 'Claim':
      return claim(command, state)
    case 'Release':
      return release(command, state)
    case 'AddToBankFile':
      return addToBankFile(command, state)
    case 'Approve':
      return approve(command, state)
    case 'Expire':
      if (state.kind !== 'deposit' || state.status !== 'Pending' || at < state.expiresAt) return accept()
      return accept(cancelled(state, at, 'expired', 'expired'))
    case 'ReceiveFunds':
      return receiveFunds(command, state)
    case 'ReceivePart':
      return receivePart(command, state)
    case 'Correct':
      return correct(command, state)
    case 'ApproveCorrection':
      return approveCorrection(command, state)
    case 'ReturnFunds':
      return returnFunds(command, state)
    case 'ReturnPayout':
      return returnPayout(command, state)
    case 'MatchBankPayment':
      return matchBankPayment(command, state)
    case 'RequestRefund':
      return requestRefund(command, state)
    case 'ApproveRefund':
      return approveRefund(command, state)
    case 'CompleteRefund':
      return completeRefund(command, state)
    case 'EndRefund':
      return endRefund(command, state)
    case 'RequestRepayment':
      return requestRepayment(command, state)
    case 'EndRepayment':
      return endRepayment(command, state)
    case 'ResolveAttention': {
      if (!isResolvable(state)) return accept()
      const data = { ...commonFields(state, at), resolvedAmountMinor: undecidedMinor(state), reason: command.reason }
      return accept({ type: 'AttentionResolved', data })
    }
    case 'Reopen':
      if (state.kind === 'withdrawal') return refuse('conflict', 'not-reopenable')
      if (state.status === 'ManualControl' && state.reopened) return accept()
      if (state.status !== 'Cancelled' && state.status !== 'Failed') return refuse('conflict', 'not-reopenable')
      return accept({ type: 'TransferReopened', data: { ...commonFields(state, at), reason: command.reason } })
    case 'ErasePersonalData': {
      const { paymentMethod, createdAt } = state
      return accept({ type: 'PersonalDataErased', data: { ...commonFields(state, at), paymentMethod, createdAt } })
    }
    default:
      return command satisfies never
  }
}

function create(command: CreateDeposit | CreateWithdrawal, state: TransferState): Decision<TransferEvent> {
  const event = creation(command)
  if (state.kind === 'none') return accept(event)
  // The expiry depends on the time of the request, so it may differ in a repeat.
  const same = sameRequest(evolve(initialState, event) as Transfer, state)
  return same ? accept() : refuse('conflict', 'reference-reused')
}

function creation(command: CreateDeposit | CreateWithdrawal): TransferCreated {
  const requested = statedFields(requestedFields, command)
  if (command.type === 'CreateDeposit') {
    const { type: _, hashId = null, ...data } = command
    return { type: 'DepositCreated', data: { kind: 'deposit', ...data, ...requested, hashId } }
  }
  const { type: _, hashId = null, refundOf = null, repaymentOf = null, ...data } = command
  const payee = statedFields(payeeFields, command)
  const links = { refundOf, repaymentOf }
  return { type: 'WithdrawalCreated', data: { kind: 'withdrawal', ...data, ...requested, ...payee, hashId, ...links } }
}

/** After an erasure the customers cannot be compared, so a merchant can repeat the request of an erased customer. */
function sameRequest(a: Transfer, b: Transfer): boolean {
  const same =
    a.merchantId === b.merchantId &&
    a.referenceId === b.referenceId &&
    a.amountMinor === b.amountMinor &&
    isSameRequest(requestedFields, a, b, { isErased: isErased(b) })
  if (a.kind === 'deposit') return same && b.kind === 'deposit' && a.channel === b.channel
  if (b.kind === 'deposit' || a.refundOf !== b.refundOf || a.repaymentOf !== b.repaymentOf) return false
  return same && isSameRequest(payeeFields, a, b, { isErased: isErased(b) })
}

/** A repeat of the present status changes nothing. A change of a terminal status is rejected. */
function moveTo(status: Status, by: Settler, state: Transfer, event: TransferEvent): Decision<TransferEvent> {
  if (state.status === status) return accept()
  if (isTerminal(state.status)) return refuse('conflict', 'status-final', { status: state.status })
  return claimRefusal(by, state) ?? accept(event)
}
