import t from 'tap'
import { type Deposit, needsAttention, unsettledMinor } from '../../src/domain/transfer/transfer.js'
import type { Complete, ReceiveFunds, TransferCommand } from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { specification } from '../support/given-when-then.js'
import { complete, createDeposit, createWithdrawal, later, operator } from './transfer-samples.js'

const { given, fold } = specification(transferDecider)

const receipt = 'https://bank.example/r/1'
const strict = { toleranceMinor: 0n, autoCancel: true }
const receive = (receivedAmountMinor: bigint, changes: Partial<ReceiveFunds> = {}): ReceiveFunds => ({
  type: 'ReceiveFunds',
  receivedAmountMinor,
  receiptUrl: receipt,
  mismatchPolicy: complete.mismatchPolicy,
  manualControlAboveMinor: null,
  at: later,
  ...changes,
})
const completing = (transactionAmountMinor: bigint, changes: Partial<Complete> = {}): Complete => ({
  ...complete,
  transactionAmountMinor,
  ...changes,
})
const cancel: TransferCommand = { type: 'Cancel', message: null, ...operator, at: later }
const fail: TransferCommand = { type: 'Fail', message: null, ...operator, at: later }
const reopen: TransferCommand = { type: 'Reopen', reason: 'the money arrived', at: later }
const resolve: TransferCommand = { type: 'ResolveAttention', reason: 'recorded twice', at: later }
const returnMoney = (amountMinor: bigint, receiptUrl = 'https://bank.example/back/1'): TransferCommand => ({
  type: 'ReturnFunds',
  amountMinor,
  receiptUrl,
  refundId: 'r-1',
  toleranceMinor: 0n,
  ...{ approvalAboveMinor: null, callbackOnMoney: false },
  ...{ by: 'user:ada', at: later },
})

/** Returns the events of the commands. @throws if a command is rejected */
function eventsOf(...commands: readonly TransferCommand[]): TransferEvent[] {
  const history: TransferEvent[] = []
  for (const command of [createDeposit, ...commands]) {
    const decision = transferDecider.decide(command, fold(history))
    if (!decision.accepted) throw new Error(`${command.type}: ${decision.refusal.rule}`)
    history.push(...decision.events)
  }
  return history
}

function after(...commands: readonly TransferCommand[]): Deposit {
  return fold(eventsOf(...commands)) as Deposit
}

function summaryOf(deposit: Deposit) {
  const { status, transactionAmountMinor, hasAmountMismatch, funds, receiptUrl } = deposit
  return {
    ...{ status, transactionAmountMinor, hasAmountMismatch, receiptUrl },
    receivedMinor: funds.receivedMinor,
    unsettledMinor: unsettledMinor(deposit),
    needsAttention: needsAttention(deposit),
  }
}

t.test('books 95 of 100 as a mismatch after an automatic cancellation, a reopening and a completion', async (t) => {
  const autoCancelled = receive(95_00n, { mismatchPolicy: strict })
  const money = { transactionAmountMinor: 95_00n, receivedMinor: 95_00n, hasAmountMismatch: true, receiptUrl: receipt }
  const open = { unsettledMinor: 95_00n, needsAttention: true }
  t.strictSame(summaryOf(after(autoCancelled)), { status: 'Cancelled', ...money, ...open })
  t.strictSame(summaryOf(after(autoCancelled, reopen)), { status: 'ManualControl', ...money, ...open })
  const booked = after(autoCancelled, reopen, { ...complete, mismatchPolicy: strict })
  t.strictSame(summaryOf(booked), { status: 'Completed', ...money, unsettledMinor: 0n, needsAttention: false })
})

t.test(
  'money that is not booked stays in the amount and needs attention, regardless of how the deposit ends',
  async (t) => {
    const held = receive(95_00n, { manualControlAboveMinor: 50_00n })
    for (const commands of [
      [held],
      [held, cancel],
      [held, fail],
      [cancel, receive(95_00n)],
      [fail, receive(95_00n), reopen],
    ]) {
      t.match(summaryOf(after(...commands)), {
        transactionAmountMinor: 95_00n,
        hasAmountMismatch: true,
        receiptUrl: receipt,
        unsettledMinor: 95_00n,
        needsAttention: true,
      })
    }
    const again = after(receive(95_00n, { mismatchPolicy: strict }), reopen, cancel)
    t.match(summaryOf(again), { status: 'Cancelled', transactionAmountMinor: 95_00n, unsettledMinor: 95_00n })
  },
)

t.test('records held money before the status, so that the callback includes it', async (t) => {
  const types = eventsOf(receive(100_00n, { manualControlAboveMinor: 50_00n })).map(({ type }) => type)
  t.strictSame(types, ['DepositCreated', 'LateFundsReceived', 'TransferSentToManualControl'])
})

t.test(
  'a completion books the available money, and a different amount needs a reason and a decision on the rest',
  async (t) => {
    const held = eventsOf(receive(100_00n, { manualControlAboveMinor: 50_00n }))
    given(...held)
      .when(completing(40_00n))
      .then('conflict')
    given(...held)
      .when(completing(120_00n))
      .then('conflict')
    t.match(summaryOf(fold([...held, ...decided(complete, held)]) as Deposit), {
      transactionAmountMinor: 100_00n,
      needsAttention: false,
    })

    const [receiving, less] = [
      receive(100_00n, { manualControlAboveMinor: 50_00n }),
      completing(40_00n, { reason: 'the rest will be returned' }),
    ]
    t.match(summaryOf(after(receiving, less)), { transactionAmountMinor: 40_00n, unsettledMinor: 60_00n })
    t.match(summaryOf(after(receiving, less, returnMoney(50_00n))), { unsettledMinor: 10_00n, needsAttention: true })
    const done = after(receiving, less, returnMoney(50_00n), returnMoney(10_00n, 'https://bank.example/back/2'))
    t.match(summaryOf(done), { transactionAmountMinor: 40_00n, unsettledMinor: 0n, needsAttention: false })
  },
)

t.test('a completion with more than the received money needs attention until it is resolved', async (t) => {
  const more = completing(100_00n, { reason: 'five were paid in cash' })
  const booked = after(receive(95_00n, { mismatchPolicy: strict }), reopen, more)
  t.match(summaryOf(booked), { transactionAmountMinor: 100_00n, receivedMinor: 100_00n, unsettledMinor: 0n })
  t.ok(needsAttention(booked))
  t.notOk(needsAttention(after(receive(95_00n, { mismatchPolicy: strict }), reopen, more, resolve)))
})

t.test('a completion needs no attention if no money was recorded before', async (t) => {
  for (const commands of [[complete], [completing(95_00n)]]) t.notOk(needsAttention(after(...commands)))
  t.match(summaryOf(after(completing(95_00n))), { receivedMinor: 95_00n, hasAmountMismatch: true })
})

t.test('the same money recorded by an operator and by the wallet needs attention until it is resolved', async (t) => {
  t.match(summaryOf(after(complete, receive(100_00n))), { transactionAmountMinor: 100_00n, unsettledMinor: 100_00n })
  const resolved = after(complete, receive(100_00n), resolve)
  t.match(summaryOf(resolved), { receivedMinor: 200_00n, unsettledMinor: 0n, needsAttention: false })
  given(...eventsOf(complete, receive(100_00n), resolve))
    .when(resolve)
    .then([])
})

t.test('returns at most the money that is available and not booked, once per receipt', async (t) => {
  const late = [cancel, receive(95_00n)]
  given(...eventsOf(...late))
    .when(returnMoney(95_01n))
    .then('conflict')
  given(...eventsOf(...late, returnMoney(95_00n)))
    .when(returnMoney(95_00n))
    .then([], 'a repeat')
  given(...eventsOf(...late, returnMoney(45_00n)))
    .when(returnMoney(50_00n))
    .then('conflict', 'a different amount with the same receipt')
  given(...eventsOf(...late, returnMoney(95_00n)))
    .when(returnMoney(1n, 'https://bank.example/back/2'))
    .then('conflict')
  given(...eventsOf(complete))
    .when(returnMoney(1n))
    .then('conflict', 'the money is booked')
  given(...eventsOf())
    .when(returnMoney(1n))
    .then('conflict', 'no money was received')
  given(...eventsOf(...late, resolve))
    .when(returnMoney(1n))
    .then('conflict', 'the money is resolved')
  const withdrawal = transferDecider.decide(createWithdrawal, transferDecider.initialState)
  if (!withdrawal.accepted) throw new Error('the create was rejected')
  given(...withdrawal.events)
    .when(returnMoney(1n))
    .then('conflict', 'a withdrawal receives no money')
  t.match(summaryOf(after(...late, returnMoney(95_00n))), {
    status: 'Cancelled',
    transactionAmountMinor: 0n,
    hasAmountMismatch: false,
    receivedMinor: 95_00n,
    needsAttention: false,
  })
})

t.test('a completion needs an amount and a reason after all money was returned', async () => {
  const returned = eventsOf(cancel, receive(95_00n), returnMoney(95_00n), reopen)
  given(...returned)
    .when(complete)
    .then('conflict')
  given(...returned)
    .when(completing(100_00n))
    .then('conflict')
  const decision = transferDecider.decide(completing(100_00n, { reason: 'by bank' }), fold(returned))
  t.match(decision, { accepted: true })
})

t.test('keeps the receipt of received money until a newer one arrives', async (t) => {
  const held = receive(95_00n, { manualControlAboveMinor: 50_00n })
  const newer = 'https://bank.example/r/2'
  for (const commands of [[cancel], [fail], [complete], [cancel, reopen], [cancel, reopen, complete]]) {
    t.equal(after(held, ...commands).receiptUrl, receipt, commands.map(({ type }) => type).join())
  }
  t.equal(after(held, { ...complete, receiptUrl: newer }).receiptUrl, newer)
  t.equal(after(held, receive(1n, { receiptUrl: newer }), cancel).receiptUrl, newer)
  t.equal(after(held, receive(1n, { receiptUrl: null }), cancel).receiptUrl, receipt)
  t.equal(after(receive(95_00n, { mismatchPolicy: strict }), reopen, cancel).receiptUrl, receipt)
  t.equal(after(held, returnMoney(95_00n), cancel).receiptUrl, receipt, 'a return does not replace the receipt')
  for (const command of [complete, cancel]) {
    t.match(decided(command, eventsOf(held)), [{ data: { receiptUrl: receipt } }], 'the event contains the receipt')
  }
})

t.test('only an unlikely amount needs a confirmation, which must repeat it', async () => {
  const guarded = (amount: bigint, confirmed?: bigint) =>
    completing(amount, { guardFactor: 10, ...(confirmed !== undefined && { confirmedAmountMinor: confirmed }) })
  const [deposit, withdrawal] = [createDeposit, createWithdrawal].map((create) => {
    const decision = transferDecider.decide(create, transferDecider.initialState)
    if (!decision.accepted) throw new Error('the create was rejected')
    return decision.events
  })
  const likely = [
    [deposit!, [10_00n, 99_99n, 100_00n, 1_000_00n]],
    [withdrawal!, [10_00n, 99_99n, 100_00n]],
  ] as const
  const unlikely = [
    [deposit!, [1n, 9_99n, 1_000_01n, 999_999_99n]],
    [withdrawal!, [1n, 9_99n, 100_01n, 1_000_00n]],
  ] as const
  for (const [history, amounts] of likely) {
    for (const amount of amounts) t.match(decided(guarded(amount), history), [{ type: 'TransferCompleted' }])
    for (const amount of amounts) {
      given(...history)
        .when(guarded(amount, amount + 1n))
        .then('conflict', 'a different amount')
    }
  }
  for (const [history, amounts] of unlikely) {
    for (const amount of amounts) {
      given(...history)
        .when(guarded(amount))
        .then('conflict', String(amount))
      given(...history)
        .when(guarded(amount, amount - 1n))
        .then('conflict', String(amount))
      t.match(decided(guarded(amount, amount), history), [{ type: 'TransferCompleted' }])
    }
  }
  // The wallet collected this amount, so it cannot be a typing error.
  t.match(decided(receive(1n), deposit!), [{ type: 'TransferCompleted' }])
})

function decided(command: TransferCommand, history: readonly TransferEvent[]): readonly TransferEvent[] {
  const decision = transferDecider.decide(command, fold(history))
  if (!decision.accepted) throw new Error(decision.refusal.rule)
  return decision.events
}
