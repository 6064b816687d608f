import t from 'tap'
import { possibleActions } from '../../src/domain/transfer/allowed-actions.js'
import { type Deposit, needsAttention, unsettledMinor } from '../../src/domain/transfer/transfer.js'
import type { ReceivePart, TransferCommand } from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { specification } from '../support/given-when-then.js'
import {
  common,
  complete,
  createDeposit,
  createdAt,
  depositCreated,
  eventsTo,
  later,
  operator,
  withdrawalCreated,
} from './transfer-samples.js'

const { given, fold } = specification(transferDecider)

const afterTwoWeeks = '2026-03-15T10:05:00.000Z'
const receive = (receivedAmountMinor: bigint, reference: string, changes: Partial<ReceivePart> = {}): ReceivePart => ({
  type: 'ReceivePart',
  receivedAmountMinor,
  receiptUrl: null,
  reference,
  isManual: true,
  toleranceMinor: 0n,
  manualControlAboveMinor: null,
  guardFactor: 10,
  at: later,
  ...changes,
})
const received = (receivedAmountMinor: bigint, reference: string, changes: object = {}): TransferEvent => ({
  type: 'FundsReceived',
  data: {
    ...common('deposit'),
    ...{ receivedAmountMinor, receiptUrl: null, reference, hasAmountMismatch: true, openUntil: afterTwoWeeks },
    ...changes,
  },
})
const late = (receivedAmountMinor: bigint, reference: string, hasAmountMismatch: boolean): TransferEvent => ({
  type: 'LateFundsReceived',
  data: { ...common('deposit'), receivedAmountMinor, receiptUrl: null, reference, hasAmountMismatch },
})
const completed = (transactionAmountMinor: bigint, changes: object = {}): TransferEvent => ({
  type: 'TransferCompleted',
  data: {
    ...common('deposit'),
    ...{ transactionAmountMinor, receivedAmountMinor: 0n, hasAmountMismatch: false, receiptUrl: null },
    ...{ message: null, reason: null },
    ...changes,
  },
})
const first = received(60_00n, 'FT-1')

t.test('60 of 100 stay open, and 40 complete the deposit', async (t) => {
  given(depositCreated).when(receive(60_00n, 'FT-1')).then([first])
  const rest = received(40_00n, 'FT-2', { hasAmountMismatch: false, receiptUrl: 'https://bank.example/2' })
  given(depositCreated, first)
    .when(receive(40_00n, 'FT-2', { receiptUrl: 'https://bank.example/2' }))
    .then([rest, completed(100_00n, { receiptUrl: 'https://bank.example/2' })])
  const waiting = fold([depositCreated, first]) as Deposit
  t.match(waiting, { status: 'Pending', transactionAmountMinor: 60_00n, hasAmountMismatch: true })
  t.equal(unsettledMinor(waiting), 60_00n)
  t.notOk(needsAttention(waiting), 'the part waits for the rest')
})

t.test('one payment of the whole amount completes the deposit', async () => {
  given(depositCreated)
    .when(receive(100_00n, 'FT-1'))
    .then([received(100_00n, 'FT-1', { hasAmountMismatch: false }), completed(100_00n)])
})

t.test('the sum completes the deposit within the tolerance, and no further', async () => {
  const within = received(99_50n, 'FT-1', { hasAmountMismatch: false })
  given(depositCreated)
    .when(receive(99_50n, 'FT-1', { toleranceMinor: 50n }))
    .then([within, completed(99_50n)])
  given(depositCreated)
    .when(receive(99_49n, 'FT-1', { toleranceMinor: 50n }))
    .then([received(99_49n, 'FT-1')])
  given(depositCreated)
    .when(receive(100_51n, 'FT-1', { toleranceMinor: 50n }))
    .then([received(100_51n, 'FT-1')])
})

t.test('too much money stays open and needs a decision: an operator books it or returns the rest', async (t) => {
  const much = [depositCreated, received(130_00n, 'FT-1')]
  t.ok(needsAttention(fold(much) as Deposit))
  given(...much)
    .when(complete)
    .then([completed(130_00n, { hasAmountMismatch: true })])
  const returned: TransferEvent = {
    type: 'FundsReturned',
    data: {
      ...common('deposit'),
      ...{ returnedAmountMinor: 30_00n, receiptUrl: 'https://bank.example/b', hasAmountMismatch: false },
      callbackOnMoney: false,
      ...{ refundId: null, bookedAmountMinor: 0n },
    },
  }
  given(...much)
    .when({
      type: 'ReturnFunds',
      amountMinor: 30_00n,
      receiptUrl: 'https://bank.example/b',
      ...{ refundId: 'r-1', approvalAboveMinor: null, by: 'user:ada', toleranceMinor: 0n },
      callbackOnMoney: false,
      at: later,
    })
    .then([returned])
  t.ok(needsAttention(fold([...much, returned]) as Deposit), 'the deposit can be completed now')
})

t.test('an operator books what there is', async () => {
  given(depositCreated, first)
    .when(complete)
    .then([completed(60_00n, { hasAmountMismatch: true })])
})

t.test('a repeat of a reference changes nothing, and with a different amount it is rejected', async () => {
  for (const after of [[], [received(40_00n, 'FT-2'), completed(100_00n)], eventsTo('deposit').Cancelled]) {
    given(depositCreated, first, ...after)
      .when(receive(60_00n, 'FT-1'))
      .then([])
    given(depositCreated, first, ...after)
      .when(receive(61_00n, 'FT-1'))
      .then('conflict')
  }
  given(depositCreated, ...eventsTo('deposit').Cancelled, late(60_00n, 'FT-1', true))
    .when(receive(60_00n, 'FT-1'))
    .then([])
})

t.test('on a deposit in review, money is recorded, and a person decides', async () => {
  const review = eventsTo('deposit').ManualControl
  given(depositCreated, ...review)
    .when(receive(100_00n, 'FT-1'))
    .then([received(100_00n, 'FT-1', { hasAmountMismatch: false })])
})

t.test('on a deposit that has ended, money is late and needs a decision', async (t) => {
  for (const status of ['Completed', 'Cancelled', 'Failed'] as const) {
    const history = [depositCreated, ...eventsTo('deposit')[status]]
    const event = late(60_00n, 'FT-1', status !== 'Completed')
    given(...history)
      .when(receive(60_00n, 'FT-1'))
      .then([event])
    t.ok(needsAttention(fold([...history, event]) as Deposit), status)
  }
})

t.test('above the merchant’s limit, the sum is reviewed before the completion', async () => {
  const message = '100.00 was received; amounts above 70.00 are checked'
  given(depositCreated, first)
    .when(receive(40_00n, 'FT-2', { manualControlAboveMinor: 70_00n }))
    .then([
      received(40_00n, 'FT-2', { hasAmountMismatch: false }),
      { type: 'TransferSentToManualControl', data: { ...common('deposit'), message } },
    ])
  given(depositCreated)
    .when(receive(60_00n, 'FT-1', { manualControlAboveMinor: 70_00n }))
    .then([first])
})

t.test('a deposit that holds a part expires two weeks after its first part', async (t) => {
  const expire = (at: string): TransferCommand => ({ type: 'Expire', at })
  const expired = (at: string): TransferEvent => ({
    type: 'TransferCancelled',
    data: {
      ...common('deposit', at),
      ...{ message: 'expired', reason: 'expired', transactionAmountMinor: 60_00n, receivedAmountMinor: 0n },
      ...{ hasAmountMismatch: true, receiptUrl: null, autoCancelledAmountMinor: null },
    },
  })
  given(depositCreated, first).when(expire('2026-03-15T10:04:59.999Z')).then([])
  given(depositCreated, first)
    .when(expire(afterTwoWeeks))
    .then([expired(afterTwoWeeks)])
  t.ok(needsAttention(fold([depositCreated, first, expired(afterTwoWeeks)]) as Deposit))
  const nextDay = '2026-03-02T10:05:00.000Z'
  given(depositCreated, first)
    .when(receive(1_00n, 'FT-2', { at: nextDay }))
    .then([received(1_00n, 'FT-2', { at: nextDay })])
  const back = { returnedAmountMinor: 60_00n, receiptUrl: 'https://bank.example/b', hasAmountMismatch: false }
  const empty = [depositCreated, first, { type: 'FundsReturned', data: { ...common('deposit'), ...back } } as const]
  t.equal((fold(empty) as Deposit).expiresAt, createDeposit.expiresAt, 'without money the first expiry applies')
  const longer = { ...depositCreated, data: { ...depositCreated.data, expiresAt: '2026-03-20T10:00:00.000Z' } }
  t.equal((fold([longer, first]) as Deposit).expiresAt, longer.data.expiresAt, 'a part never shortens the time')
})

t.test('payments are only for deposits that are paid manually, and at most 100 of one', async () => {
  given(withdrawalCreated).when(receive(60_00n, 'FT-1')).then('conflict')
  given(depositCreated)
    .when(receive(60_00n, 'FT-1', { isManual: false }))
    .then('conflict')
  given().when(receive(60_00n, 'FT-1')).then('not-found')
  const many = Array.from({ length: 100 }, (_, n) => received(1n, `FT-${n}`))
  given(depositCreated, ...many)
    .when(receive(1n, 'FT-100'))
    .then('conflict')
})

t.test('a payment that is many times the requested amount must be confirmed', async () => {
  given(depositCreated).when(receive(1000_01n, 'FT-1')).then('conflict')
  given(depositCreated)
    .when(receive(1000_01n, 'FT-1', { confirmedAmountMinor: 1000_01n }))
    .then([received(1000_01n, 'FT-1')])
  given(depositCreated)
    .when(receive(60_00n, 'FT-1', { confirmedAmountMinor: 61_00n }))
    .then('conflict')
})

t.test('the action is offered where a payment can be recorded', async (t) => {
  const actor = { by: operator.by, approvalAboveMinor: null, isManual: true, correctionDays: 30, at: createdAt }
  const open = fold([depositCreated, first]) as Deposit
  t.ok(possibleActions(open, actor).includes('receive'))
  t.notOk(possibleActions(open, { ...actor, isManual: false }).includes('receive'))
})
