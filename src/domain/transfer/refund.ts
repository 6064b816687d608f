import { accept, type Decision, refuse } from '../decider.js'
import { mismatchAfter } from './received-parts.js'
import {
  commonFields,
  type Deposit,
  isErased,
  type Refund,
  refundableMinor,
  reservesMoney,
  type Transfer,
  undecidedMinor,
  unsettledMinor,
} from './transfer.js'
import type { ApproveRefund, CompleteRefund, EndRefund, RequestRefund, ReturnFunds } from './transfer-commands.js'
import type { TransferEvent } from './transfer-events.js'

// Money of a deposit that goes back. It is reserved from the request until it is returned or the refund has ended.

/** The number of refunds of one deposit. Each is kept in its state. */
const maxRefunds = 100

export function requestRefund(command: RequestRefund, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'deposit') return refuse('conflict', 'deposit-required')
  const { refundId, to, amountMinor, approvalAboveMinor: threshold } = command
  const earlier = state.refunds.find((each) => each.refundId === refundId)
  if (earlier?.state === 'refused') return refuse('conflict', 'refund-refused')
  if (earlier) return isSameRefund(command, earlier, state) ? accept() : refuse('conflict', 'reference-reused')
  const { paidFrom } = command
  if (to === 'wallet' && !(paidFrom && command.walletRefunds)) return refuse('conflict', 'wallet-cannot-refund')
  if (isErased(state)) return refuse('conflict', 'customer-erased')
  if (state.refunds.length >= maxRefunds) return refuse('conflict', 'too-many-refunds', { most: maxRefunds })
  const refundable = refundableMinor(state)
  const left = to === 'wallet' ? smaller(refundable, paidFrom!.amountMinor - creditedMinor(state)) : refundable
  if (amountMinor > left) return refuse('conflict', 'refund-too-large', { left })
  const { refundMethod, accountNumber, identityNumber } = command
  const account = to === 'account' ? { refundMethod, accountNumber, identityNumber } : noAccount
  return accept(
    requested(command, state, {
      refundId,
      refundReferenceId: command.referenceId,
      refundAmountMinor: amountMinor,
      to,
      ...account,
      walletAccountNumber: to === 'wallet' ? paidFrom!.accountNumber : null,
      receiptUrl: null,
      needsApproval: to === 'wallet' && isAbove(amountMinor, threshold),
    }),
  )
}

/** Records money that was returned without the service, or above the threshold proposes this record to a second person. */
export function returnFunds(command: ReturnFunds, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'deposit') return refuse('conflict', 'deposit-required')
  const { amountMinor, receiptUrl, refundId, approvalAboveMinor } = command
  const recorded = [...state.funds.returns, ...state.refunds.filter(({ state }) => state === 'proposed')]
  const earlier = recorded.find((each) => each.receiptUrl === receiptUrl)
  // A repeated command is not a second return.
  if (earlier?.amountMinor === amountMinor) return accept()
  if (earlier) return refuse('conflict', 'receipt-reused', { returned: earlier.amountMinor })
  const left = undecidedMinor(state)
  if (left === 0n) return refuse('conflict', 'nothing-to-return')
  if (amountMinor > left) return refuse('conflict', 'return-too-large', { left })
  if (!isAbove(amountMinor, approvalAboveMinor)) return accept(returned(command, state, { ...command, refundId: null }))
  if (state.refunds.length >= maxRefunds) return refuse('conflict', 'too-many-refunds', { most: maxRefunds })
  return accept(
    requested(command, state, {
      refundId,
      refundReferenceId: refundId,
      refundAmountMinor: amountMinor,
      to: 'elsewhere',
      ...noAccount,
      walletAccountNumber: null,
      receiptUrl,
      needsApproval: true,
    }),
  )
}

/** A return without the service is recorded now, because its money has already moved. */
export function approveRefund(command: ApproveRefund, state: Transfer): Decision<TransferEvent> {
  const { refundId, by, at } = command
  if (state.kind !== 'deposit') return refuse('conflict', 'deposit-required')
  const refund = state.refunds.find((each) => each.refundId === refundId)
  if (refund && refund.approvedBy !== null) return accept()
  if (refund?.state !== 'proposed') return refuse('conflict', 'refund-not-open')
  if (refund.by === by) return refuse('conflict', 'refund-four-eyes')
  const approved = { type: 'RefundApproved', data: { ...commonFields(state, at), by, refundId } } as const
  if (refund.to !== 'elsewhere') return accept(approved)
  return accept<TransferEvent>(approved, returned(command, state, refund))
}

/** The money of a refund has moved. A refund that has ended was not paid, so nothing records it as returned. */
export function completeRefund(command: CompleteRefund, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'deposit') return refuse('conflict', 'deposit-required')
  const refund = state.refunds.find(({ refundId }) => refundId === command.refundId)
  if (refund?.state === 'returned') return accept()
  if (refund?.state !== 'open') return refuse('conflict', 'refund-not-open')
  return accept(returned(command, state, refund))
}

export function endRefund(command: EndRefund, state: Transfer): Decision<TransferEvent> {
  const { by, refundId, outcome, at } = command
  if (state.kind !== 'deposit') return refuse('conflict', 'deposit-required')
  const refund = state.refunds.find((each) => each.refundId === refundId)
  if (refund?.state === outcome) return accept()
  // A user rejects a proposal. An open refund is being paid, and only its payment ends it.
  if (refund?.state !== (outcome === 'rejected' ? 'proposed' : 'open')) return refuse('conflict', 'refund-not-open')
  return accept({ type: 'RefundEnded', data: { ...commonFields(state, at), by, refundId, outcome } })
}

const noAccount = { refundMethod: null, accountNumber: null, identityNumber: null }
const isAbove = (amountMinor: bigint, threshold: bigint | null): boolean =>
  threshold !== null && amountMinor > threshold
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

type Requested = Extract<TransferEvent, { type: 'RefundRequested' }>['data']

function requested(
  { by, at }: Pick<RequestRefund, 'by' | 'at'>,
  state: Deposit,
  refund: Omit<Requested, keyof ReturnType<typeof commonFields> | 'by'>,
) {
  return { type: 'RefundRequested', data: { ...commonFields(state, at), by, ...refund } } as const
}

/** Money that no one has decided about goes back before booked money. */
function returned(
  { toleranceMinor, callbackOnMoney, at }: Pick<CompleteRefund, 'toleranceMinor' | 'callbackOnMoney' | 'at'>,
  state: Deposit,
  {
    refundId,
    amountMinor,
    receiptUrl,
  }: Pick<Refund, 'amountMinor' | 'receiptUrl'> & { readonly refundId: string | null },
) {
  const booked = amountMinor - unsettledMinor(state)
  const money = {
    returnedAmountMinor: amountMinor,
    receiptUrl,
    hasAmountMismatch: mismatchAfter(state, -amountMinor, toleranceMinor),
    refundId,
    bookedAmountMinor: booked > 0n ? booked : 0n,
    callbackOnMoney,
  }
  return { type: 'FundsReturned', data: { ...commonFields(state, at), ...money } } as const
}

/** The money that the wallet has credited or will credit to the account that paid the deposit. */
function creditedMinor({ refunds }: Deposit): bigint {
  const credited = refunds.filter(({ to, state }) => to === 'wallet' && (state === 'returned' || reservesMoney(state)))
  return credited.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
}

/** After an erasure the accounts cannot be compared. */
function isSameRefund(command: RequestRefund, earlier: Refund, state: Deposit): boolean {
  const { to, amountMinor, refundMethod, accountNumber, identityNumber } = command
  if (to !== earlier.to || amountMinor !== earlier.amountMinor) return false
  if (to === 'wallet' || isErased(state)) return true
  const isSameAccount = accountNumber === earlier.accountNumber && identityNumber === earlier.identityNumber
  return isSameAccount && refundMethod === earlier.refundMethod
}
