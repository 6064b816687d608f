import { accept, type Decider, type Decision, refuse } from '../decider.js'
import { cancelled, complete } from './completion.js'
import { approveCorrection, correct } from './correction.js'
import { addToBankFile, approve, claim, claimRefusal, release } from './payout.js'
import { mismatchAfter, receiveFunds, receivePart } from './received-parts.js'
import { isSameRequest, payeeFields, requestedFields, statedFields } from './requested-fields.js'
import { returnPayout } from './returned-payouts.js'
import { isTerminal, type Status } from './status.js'
import {
  commonFields,
  evolve,
  initialState,
  isErased,
  needsAttention,
  type Transfer,
  type TransferState,
  unsettledMinor,
} from './transfer.js'
import type { CreateDeposit, CreateWithdrawal, ReturnFunds, Settler, TransferCommand } from './transfer-commands.js'
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
    case 'ResolveAttention': {
      if (!needsAttention(state)) return accept()
      const data = { ...commonFields(state, at), resolvedAmountMinor: unsettledMinor(state), reason: command.reason }
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
  const { type: _, hashId = null, ...data } = command
  const payee = statedFields(payeeFields, command)
  return { type: 'WithdrawalCreated', data: { kind: 'withdrawal', ...data, ...requested, ...payee, hashId } }
}

/** After an erasure the customers cannot be compared, so a merchant can repeat the request of an erased customer. */
function sameRequest(a: Transfer, b: Transfer): boolean {
  const same =
    a.merchantId === b.merchantId &&
    a.referenceId === b.referenceId &&
    a.amountMinor === b.amountMinor &&
    isSameRequest(requestedFields, a, b, { isErased: isErased(b) })
  if (a.kind === 'deposit') return same && b.kind === 'deposit' && a.channel === b.channel
  return same && b.kind === 'withdrawal' && isSameRequest(payeeFields, a, b, { isErased: isErased(b) })
}

function returnFunds(command: ReturnFunds, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'deposit') return refuse('conflict', 'deposit-required')
  const { amountMinor, receiptUrl, toleranceMinor, callbackOnMoney, at } = command
  const earlier = state.funds.returns.find((each) => each.receiptUrl === receiptUrl)
  // A repeated command is not a second return.
  if (earlier?.amountMinor === amountMinor) return accept()
  if (earlier) return refuse('conflict', 'receipt-reused', { returned: earlier.amountMinor })
  const left = unsettledMinor(state)
  if (left === 0n) return refuse('conflict', 'nothing-to-return')
  if (amountMinor > left) return refuse('conflict', 'return-too-large', { left })
  const hasAmountMismatch = mismatchAfter(state, -amountMinor, toleranceMinor)
  const data = { ...commonFields(state, at), returnedAmountMinor: amountMinor, receiptUrl, hasAmountMismatch }
  return accept({ type: 'FundsReturned', data: { ...data, callbackOnMoney } })
}

/** A repeat of the present status changes nothing. A change of a terminal status is rejected. */
function moveTo(status: Status, by: Settler, state: Transfer, event: TransferEvent): Decision<TransferEvent> {
  if (state.status === status) return accept()
  if (isTerminal(state.status)) return refuse('conflict', 'status-final', { status: state.status })
  return claimRefusal(by, state) ?? accept(event)
}
