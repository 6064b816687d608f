import t from 'tap'
import { possibleActions } from '../../src/domain/transfer/allowed-actions.js'
import {
  type Deposit,
  needsAttention,
  refundableMinor,
  undecidedMinor,
  unsettledMinor,
} from '../../src/domain/transfer/transfer.js'
import type {
  ApproveRefund,
  CompleteRefund,
  EndRefund,
  RequestRefund,
  ReturnFunds,
  TransferCommand,
} from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { documentOf, transferOf } from '../../src/read-models/transfer-document.js'
import { specification } from '../support/given-when-then.js'
import { common, complete, completed, created, createWithdrawal, later } from './transfer-samples.js'

const { given, fold } = specification(transferDecider)

const ada = 'user:ada'
const grace = 'user:grace'
const iban = 'TR330006100519786457841326'
const refund = (amountMinor: bigint, changes: Partial<RequestRefund> = {}): RequestRefund => ({
  type: 'RequestRefund',
  ...{ refundId: 'r-1', referenceId: 'refund-1', amountMinor, to: 'account', refundMethod: 2 },
  ...{ accountNumber: iban, identityNumber: null, paidFrom: null, walletRefunds: true, approvalAboveMinor: null },
  ...{ by: ada, at: later },
  ...changes,
})
const toWallet = (amountMinor: bigint, changes: Partial<RequestRefund> = {}) =>
  refund(amountMinor, {
    ...{ to: 'wallet', refundMethod: null, accountNumber: null },
    paidFrom: { accountNumber: 4711, amountMinor: 100_00n },
    ...changes,
  })
const requested = (refundAmountMinor: bigint, changes: object = {}): TransferEvent => ({
  type: 'RefundRequested',
  data: {
    ...common('deposit'),
    ...{ by: ada, refundId: 'r-1', refundReferenceId: 'refund-1', refundAmountMinor, to: 'account', refundMethod: 2 },
    ...{ accountNumber: iban, identityNumber: null, walletAccountNumber: null, receiptUrl: null, needsApproval: false },
    ...changes,
  },
})
const walletRequested = (refundAmountMinor: bigint, changes: object = {}) =>
  requested(refundAmountMinor, {
    ...{ to: 'wallet', refundMethod: null, accountNumber: null, walletAccountNumber: 4711 },
    ...changes,
  })
const returnedBy = (refundId: string | null, returnedAmountMinor: bigint, changes: object = {}): TransferEvent => ({
  type: 'FundsReturned',
  data: {
    ...common('deposit'),
    ...{ returnedAmountMinor, receiptUrl: null, hasAmountMismatch: false, refundId, bookedAmountMinor: 0n },
    callbackOnMoney: false,
    ...changes,
  },
})
const approved: TransferEvent = { type: 'RefundApproved', data: { ...common('deposit'), by: grace, refundId: 'r-1' } }
const ended = (outcome: EndRefund['outcome'], by = grace): TransferEvent => ({
  type: 'RefundEnded',
  data: { ...common('deposit'), by, refundId: 'r-1', outcome },
})
const late = (receivedAmountMinor: bigint): TransferEvent => ({
  type: 'LateFundsReceived',
  data: { ...common('deposit'), receivedAmountMinor, receiptUrl: null, hasAmountMismatch: false, reference: null },
})
const paid: CompleteRefund = {
  type: 'CompleteRefund',
  refundId: 'r-1',
  toleranceMinor: 0n,
  callbackOnMoney: false,
  at: later,
}
const end = (outcome: EndRefund['outcome']): EndRefund => ({
  ...{ type: 'EndRefund', refundId: 'r-1', outcome, by: grace, at: later },
})
const approve = (by = grace): ApproveRefund => ({
  ...{ type: 'ApproveRefund', refundId: 'r-1', toleranceMinor: 0n, callbackOnMoney: false, by, at: later },
})
const receiptUrl = 'https://bank.example/back/1'
const returning = (amountMinor: bigint, changes: Partial<ReturnFunds> = {}): ReturnFunds => ({
  ...{ type: 'ReturnFunds', amountMinor, receiptUrl, refundId: 'r-1', toleranceMinor: 0n, approvalAboveMinor: null },
  ...{ callbackOnMoney: false, by: ada, at: later },
  ...changes,
})
const elsewhere = (refundAmountMinor: bigint) =>
  requested(refundAmountMinor, {
    ...{ refundReferenceId: 'r-1', to: 'elsewhere', refundMethod: null, accountNumber: null },
    ...{ receiptUrl, needsApproval: true },
  })
const booked = [created.deposit, completed('deposit')]

function moneyOf(history: readonly TransferEvent[]) {
  const state = fold(history) as Deposit
  return {
    refundable: refundableMinor(state),
    unsettled: unsettledMinor(state),
    undecided: undecidedMinor(state),
    attention: needsAttention(state),
  }
}

t.test('booked money is refunded', async (t) => {
  given(...booked)
    .when(refund(30_00n))
    .then([requested(30_00n)])
  t.same(moneyOf([...booked, requested(30_00n)]), {
    refundable: 70_00n,
    unsettled: 0n,
    undecided: 0n,
    attention: false,
  })
  const done = returnedBy('r-1', 30_00n, { bookedAmountMinor: 30_00n })
  given(...booked, requested(30_00n))
    .when(paid)
    .then([done])
  const history = [...booked, requested(30_00n), done]
  t.same(moneyOf(history), { refundable: 70_00n, unsettled: 0n, undecided: 0n, attention: false })
  const state = fold(history) as Deposit
  t.equal(state.status, 'Completed')
  t.equal(state.transactionAmountMinor, 100_00n, 'the booking stays')
  t.equal(state.funds.refundedMinor, 30_00n)
  given(...history)
    .when(paid)
    .then([])
  given(...history)
    .when(refund(70_01n, { refundId: 'r-2' }))
    .then('conflict', 'refund-too-large')
  given(...history)
    .when(refund(70_00n, { refundId: 'r-2' }))
    .then([requested(70_00n, { refundId: 'r-2' })])
})

t.test('money that no one has decided about goes back first', async (t) => {
  const history = [...booked, late(40_00n)]
  t.same(moneyOf(history), { refundable: 140_00n, unsettled: 40_00n, undecided: 40_00n, attention: true })
  const open = [...history, requested(50_00n)]
  t.same(moneyOf(open), { refundable: 90_00n, unsettled: 40_00n, undecided: 0n, attention: false })
  given(...open)
    .when(paid)
    .then([returnedBy('r-1', 50_00n, { bookedAmountMinor: 10_00n })])
  given(...open, ended('failed'))
    .when(refund(140_01n, { refundId: 'r-2' }))
    .then('conflict', 'refund-too-large')
  t.same(moneyOf([...open, ended('failed')]), moneyOf(history), 'a refund that failed frees its money')
})

t.test('a refund is requested once', async () => {
  const open = [...booked, requested(30_00n)]
  given(...open)
    .when(refund(30_00n))
    .then([])
  given(...open)
    .when(refund(30_00n, { by: grace }))
    .then([])
  for (const other of [{ amountMinor: 31_00n }, { accountNumber: 'TR1' }, { refundMethod: 3 }, { identityNumber: '1' }])
    given(...open)
      .when(refund(30_00n, other))
      .then('conflict', 'reference-reused')
  given(...open)
    .when(toWallet(30_00n))
    .then('conflict', 'reference-reused')
  given(...open, ended('cancelled'))
    .when(refund(30_00n))
    .then([])
  given(...open, ended('refused'))
    .when(refund(30_00n))
    .then('conflict', 'refund-refused')
})

t.test('a refund ends once', async () => {
  const open = [...booked, requested(30_00n)]
  given(...open)
    .when(end('cancelled'))
    .then([ended('cancelled')])
  given(...open, ended('cancelled'))
    .when(end('cancelled'))
    .then([])
  given(...open, ended('cancelled'))
    .when(end('failed'))
    .then('conflict', 'refund-not-open')
  given(...open, ended('cancelled'))
    .when(paid)
    .then('conflict', 'refund-not-open')
  given(...open)
    .when(end('rejected'))
    .then('conflict', 'refund-not-open')
  given(...open, returnedBy('r-1', 30_00n))
    .when(end('cancelled'))
    .then('conflict', 'refund-not-open')
  given(...booked)
    .when(end('cancelled'))
    .then('conflict', 'refund-not-open')
  given(...booked)
    .when(paid)
    .then('conflict', 'refund-not-open')
})

t.test('a refund needs money', async () => {
  given(created.deposit).when(refund(1n)).then('conflict', 'refund-too-large')
  given(...booked, requested(100_00n))
    .when(refund(1n, { refundId: 'r-2' }))
    .then('conflict', 'refund-too-large')
  given(created.withdrawal).when(refund(1n)).then('conflict', 'deposit-required')
  const erased = {
    type: 'PersonalDataErased',
    data: { ...common('deposit'), paymentMethod: 1, createdAt: later },
  } as const
  given(...booked, erased)
    .when(refund(1n))
    .then('conflict', 'customer-erased')
  const many = Array.from({ length: 100 }, (_, n) => requested(1n, { refundId: `r-${n}` }))
  given(...booked, ...many)
    .when(refund(1n, { refundId: 'r-100' }))
    .then('conflict', 'too-many-refunds')
})

t.test('reserved money is not booked, resolved or returned otherwise', async (t) => {
  const held = [created.deposit, { ...late(120_00n) }]
  const open = [...held, requested(50_00n)]
  given(...open)
    .when({ ...complete, transactionAmountMinor: 100_00n, reason: 'so' })
    .then('conflict', 'money-in-refund')
  given(...open)
    .when({ ...complete, transactionAmountMinor: undefined })
    .then([completed('deposit', { transactionAmountMinor: 70_00n, receivedAmountMinor: 0n, hasAmountMismatch: true })])
  given(...open)
    .when(returning(70_01n))
    .then('conflict', 'return-too-large')
  const resolve: TransferCommand = { type: 'ResolveAttention', reason: 'so', at: later }
  const resolved: TransferEvent = {
    type: 'AttentionResolved',
    data: { ...common('deposit'), resolvedAmountMinor: 70_00n, reason: 'so' },
  }
  given(...open)
    .when(resolve)
    .then([resolved])
  t.same(moneyOf([...open, resolved]), { refundable: 0n, unsettled: 50_00n, undecided: 0n, attention: false })
})

t.test('a correction leaves what refunds returned or reserve', async () => {
  const correct = (amountMinor: bigint): TransferCommand => ({
    ...{ type: 'Correct', amountMinor, confirmedAmountMinor: amountMinor, guardFactor: 10, toleranceMinor: 0n },
    ...{
      reason: 'mistyped',
      reference: null,
      approvalAboveMinor: null,
      collectedMinor: 0n,
      correctionDays: 30,
      by: ada,
      at: later,
    },
  })
  const done = [...booked, requested(30_00n), returnedBy('r-1', 30_00n, { bookedAmountMinor: 30_00n })]
  given(...done)
    .when(correct(29_99n))
    .then('conflict', 'correction-below-refunds')
  const open = [...done, requested(20_00n, { refundId: 'r-2' })]
  given(...open)
    .when(correct(49_99n))
    .then('conflict', 'correction-below-refunds')
  const corrected = {
    type: 'TransferCorrected',
    data: {
      ...common('deposit'),
      ...{ by: ada, reason: 'mistyped', reference: null, proposedBy: null, previousAmountMinor: 100_00n },
      ...{ transactionAmountMinor: 50_00n, receivedAmountChangeMinor: -50_00n, hasAmountMismatch: true },
      message: 'amount corrected',
    },
  } as const satisfies TransferEvent
  given(...open)
    .when(correct(50_00n))
    .then([corrected])
})

t.test('the withdrawal of a refund is completed with its amount only', async () => {
  const withdrawal = { ...created.withdrawal, data: { ...created.withdrawal.data, refundOf: 'd-1' } }
  const other: TransferCommand = { ...complete, transactionAmountMinor: 99_00n, confirmedAmountMinor: 99_00n }
  given(withdrawal).when(other).then('conflict', 'linked-amount-fixed')
  given(withdrawal)
    .when(complete)
    .then([completed('withdrawal')])
  const correct: TransferCommand = {
    ...{ type: 'Correct', amountMinor: 99_00n, confirmedAmountMinor: 99_00n, guardFactor: 10, toleranceMinor: 0n },
    ...{
      reason: 'mistyped',
      reference: null,
      approvalAboveMinor: null,
      collectedMinor: 0n,
      correctionDays: 30,
      by: ada,
      at: later,
    },
  }
  given(withdrawal, completed('withdrawal')).when(correct).then('conflict', 'linked-amount-fixed')
  given(withdrawal).when(createWithdrawal).then('conflict', 'reference-reused')
})

t.test('a refund to the wallet', async (t) => {
  given(...booked)
    .when(toWallet(30_00n))
    .then([walletRequested(30_00n)])
  given(...booked)
    .when(toWallet(30_00n, { paidFrom: null }))
    .then('conflict', 'wallet-cannot-refund')
  given(...booked)
    .when(toWallet(30_00n, { walletRefunds: false }))
    .then('conflict', 'wallet-cannot-refund')
  const open = [...booked, late(50_00n), walletRequested(90_00n)]
  given(...open)
    .when(toWallet(10_01n, { refundId: 'r-2' }))
    .then('conflict', 'refund-too-large')
  const large = walletRequested(30_00n, { needsApproval: true })
  given(...booked)
    .when(toWallet(30_00n, { approvalAboveMinor: 29_99n }))
    .then([large])
  const proposed = [...booked, large]
  t.ok(needsAttention(fold(proposed) as Deposit))
  given(...proposed)
    .when(paid)
    .then('conflict', 'refund-not-open')
  given(...proposed)
    .when(approve(ada))
    .then('conflict', 'refund-four-eyes')
  given(...proposed)
    .when(approve())
    .then([approved])
  given(...proposed, approved)
    .when(approve())
    .then([])
  given(...proposed, approved)
    .when(paid)
    .then([returnedBy('r-1', 30_00n, { bookedAmountMinor: 30_00n })])
  given(...proposed)
    .when(end('rejected'))
    .then([ended('rejected')])
  given(...proposed)
    .when(end('refused'))
    .then('conflict', 'refund-not-open')
  given(...proposed, approved)
    .when(end('rejected'))
    .then('conflict', 'refund-not-open')
  given(...booked, walletRequested(30_00n))
    .when(approve())
    .then('conflict', 'refund-not-open')
})

t.test('a return without the service above the threshold needs a second person', async (t) => {
  const history = [...booked, late(40_00n)]
  const done = returnedBy(null, 40_00n, { receiptUrl })
  given(...history)
    .when(returning(40_00n))
    .then([done])
  given(...history)
    .when(returning(40_00n, { approvalAboveMinor: 40_00n }))
    .then([done])
  const large = { approvalAboveMinor: 39_99n }
  given(...history)
    .when(returning(40_00n, large))
    .then([elsewhere(40_00n)])
  const proposed = [...history, elsewhere(40_00n)]
  t.same(moneyOf(proposed), { refundable: 100_00n, unsettled: 40_00n, undecided: 0n, attention: true })
  given(...proposed)
    .when(returning(40_00n, large))
    .then([])
  given(...proposed)
    .when(returning(30_00n, large))
    .then('conflict', 'receipt-reused')
  given(...proposed)
    .when(approve(ada))
    .then('conflict', 'refund-four-eyes')
  given(...proposed)
    .when(approve())
    .then([approved, returnedBy('r-1', 40_00n, { receiptUrl })])
  given(...proposed)
    .when(end('rejected'))
    .then([ended('rejected')])
  given(...proposed, ended('rejected'))
    .when(returning(40_00n, { ...large, refundId: 'r-2' }))
    .then([requested(40_00n, { ...elsewhere(40_00n).data, refundId: 'r-2', refundReferenceId: 'r-2' })])
})

t.test('an erasure hides the accounts of refunds, and the document keeps the state', async (t) => {
  const erased = {
    type: 'PersonalDataErased',
    data: { ...common('deposit'), paymentMethod: 1, createdAt: later },
  } as const
  const wallet = walletRequested(1n, { refundId: 'r-2' })
  const state = fold([...booked, requested(30_00n, { identityNumber: '1' }), wallet, erased]) as Deposit
  t.match(state.refunds, [
    { accountNumber: '[erased]', identityNumber: '[erased]', walletAccountNumber: null },
    { accountNumber: null, identityNumber: null, walletAccountNumber: 999_999_999_999 },
  ])
  t.same(transferOf(documentOf(state, 0, 0)), state)
})

t.test('the actions of a deposit', async (t) => {
  const actions = (history: readonly TransferEvent[], by = grace) =>
    possibleActions(fold(history) as Deposit, {
      ...{ by, approvalAboveMinor: 10_00n, isManual: true, correctionDays: 30, at: later },
    }).filter((action) => action.includes('refund') || action === 'return')
  t.same(actions([created.deposit]), [])
  t.same(actions(booked), ['refund'])
  t.same(actions([...booked, late(40_00n)]), ['return', 'refund'])
  t.same(actions([...booked, walletRequested(100_00n, { needsApproval: true })]), ['approve-refund', 'reject-refund'])
  t.same(actions([...booked, walletRequested(100_00n, { needsApproval: true })], ada), ['reject-refund'])
  t.same(actions([...booked, requested(100_00n)]), [])
})
