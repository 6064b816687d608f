import { accept, type Decider, type Decision, refuse } from '../decision.js'
import { formatTwoDecimals } from '../money.js'
import type { Complete, CreateDeposit, CreateWithdrawal, ReceiveFunds, Reopen, TransferCommand } from './commands.js'
import type { TransferCreated, TransferEvent } from './events.js'
import { expiredMessage } from './expiry.js'
import { evolve, initialState, isTerminal, type Status, type Transfer, type TransferState } from './transfer.js'

export const transferDecider: Decider<TransferState, TransferCommand, TransferEvent> = { initialState, decide, evolve }

export function decide(command: TransferCommand, state: TransferState): Decision<TransferEvent> {
  if (command.type === 'CreateDeposit' || command.type === 'CreateWithdrawal') return create(command, state)
  if (state.kind === 'none') return refuse('not-found', 'There is no such transfer.')
  switch (command.type) {
    case 'Complete':
      return complete(command, state)
    case 'SendToManualControl':
      return moveTo('ManualControl', state, {
        type: 'TransferSentToManualControl',
        data: { ...common(state, command.at), message: command.message },
      })
    case 'Cancel':
      return moveTo('Cancelled', state, cancelled(state, command.at, command.message))
    case 'Fail':
      return moveTo('Failed', state, {
        type: 'TransferFailed',
        data: { ...common(state, command.at), message: command.message },
      })
    case 'Expire':
      if (state.kind !== 'deposit' || state.status !== 'Pending' || command.at < state.expiresAt) return accept()
      return accept(cancelled(state, command.at, expiredMessage))
    case 'ReceiveFunds':
      return receiveFunds(command, state)
    case 'Reopen':
      return reopen(command, state)
    default:
      return command satisfies never
  }
}

function create(command: CreateDeposit | CreateWithdrawal, state: TransferState): Decision<TransferEvent> {
  const event = creation(command)
  if (state.kind === 'none') return accept(event)
  // The expiry follows from the time of the request, so a repeat may name another one.
  const same = sameRequest(evolve(initialState, event) as Transfer, state)
  return same ? accept() : refuse('conflict', 'This referenceId was used before, with other content.')
}

function creation(command: CreateDeposit | CreateWithdrawal): TransferCreated {
  if (command.type === 'CreateDeposit') {
    const { type: _, ...data } = command
    return { type: 'DepositCreated', data: { kind: 'deposit', ...data } }
  }
  const { type: _, ...data } = command
  return { type: 'WithdrawalCreated', data: { kind: 'withdrawal', ...data } }
}

function sameRequest(a: Transfer, b: Transfer): boolean {
  const same =
    a.merchantId === b.merchantId &&
    a.referenceId === b.referenceId &&
    a.amountMinor === b.amountMinor &&
    a.userId === b.userId &&
    a.name === b.name &&
    a.username === b.username &&
    a.paymentMethod === b.paymentMethod
  if (a.kind === 'deposit') return same && b.kind === 'deposit' && a.channel === b.channel
  return same && b.kind === 'withdrawal' && a.accountNumber === b.accountNumber && a.identityNumber === b.identityNumber
}

function complete(command: Complete, state: Transfer): Decision<TransferEvent> {
  const transactionAmountMinor = command.transactionAmountMinor ?? state.lateFundsMinor ?? state.amountMinor
  if (isCompletionRepeated(transactionAmountMinor, state)) return accept()
  const difference = transactionAmountMinor - state.amountMinor
  const { toleranceMinor, autoCancel } = command.mismatchPolicy
  const hasAmountMismatch = difference > toleranceMinor || -difference > toleranceMinor
  if (hasAmountMismatch && autoCancel && state.kind === 'deposit' && !isTerminal(state.status)) {
    const event = cancelled(state, command.at, command.message ?? 'amount mismatch')
    return accept({ ...event, data: { ...event.data, transactionAmountMinor, hasAmountMismatch } })
  }
  return moveTo('Completed', state, {
    type: 'TransferCompleted',
    data: {
      ...common(state, command.at),
      transactionAmountMinor,
      hasAmountMismatch,
      receiptUrl: command.receiptUrl,
      message: command.message,
    },
  })
}

function receiveFunds(command: ReceiveFunds, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'deposit') return refuse('conflict', 'Only a deposit takes money from a customer.')
  const { receivedAmountMinor, receiptUrl, mismatchPolicy, manualControlAboveMinor, at } = command
  const received = {
    type: 'LateFundsReceived',
    data: { ...common(state, at), receivedAmountMinor, receiptUrl },
  } as const
  if (state.status !== 'Pending') return accept(received)
  if (manualControlAboveMinor !== null && max(receivedAmountMinor, state.amountMinor) > manualControlAboveMinor) {
    const message = `${formatTwoDecimals(receivedAmountMinor)} was received; amounts above ${formatTwoDecimals(manualControlAboveMinor)} are checked`
    const held = { type: 'TransferSentToManualControl', data: { ...common(state, at), message } } as const
    return accept<TransferEvent>(held, received)
  }
  const completion = { transactionAmountMinor: receivedAmountMinor, receiptUrl, message: null, mismatchPolicy, at }
  return complete({ type: 'Complete', ...completion }, state)
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function reopen({ reason, at }: Reopen, state: Transfer): Decision<TransferEvent> {
  if (state.kind === 'deposit' && (state.status === 'Cancelled' || state.status === 'Failed')) {
    return accept({ type: 'TransferReopened', data: { ...common(state, at), reason } })
  }
  return refuse('conflict', 'Only a cancelled or failed deposit can be reopened.')
}

/**
 * What an earlier completion did stays its answer, whatever the merchant's policy has become since. A deposit cancelled in
 * any other way is no repeat: to accept would tell the operator that money was booked which was not.
 */
function isCompletionRepeated(transactionAmountMinor: bigint, state: Transfer): boolean {
  if (state.status === 'Completed') return true
  const autoCancelled = state.status === 'Cancelled' && state.hasAmountMismatch
  return autoCancelled && state.transactionAmountMinor === transactionAmountMinor
}

/** A repeat of the present status changes nothing; a terminal status, or a way back, is refused. */
function moveTo(status: Status, state: Transfer, event: TransferEvent): Decision<TransferEvent> {
  if (state.status === status) return accept()
  if (isTerminal(state.status)) {
    return refuse('conflict', `The transfer is ${state.status}, which is final; it cannot become ${status}.`)
  }
  return accept(event)
}

function cancelled(state: Transfer, at: string, message: string | null) {
  return {
    type: 'TransferCancelled',
    data: { ...common(state, at), message, transactionAmountMinor: 0n, hasAmountMismatch: false },
  } as const
}

function common(state: Transfer, at: string) {
  const { trackingId, merchantId, kind, referenceId, amountMinor } = state
  return { trackingId, merchantId, kind, referenceId, amountMinor, at }
}
