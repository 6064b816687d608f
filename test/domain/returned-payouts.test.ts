import t from 'tap'
import { possibleActions } from '../../src/domain/transfer/allowed-actions.js'
import {
  keptMinor,
  needsAttention,
  returnedMinor,
  type Transfer,
  unsettledMinor,
} from '../../src/domain/transfer/transfer.js'
import type {
  Correct,
  EndRepayment,
  RequestRepayment,
  ReturnPayout,
  TransferCommand,
} from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { specification } from '../support/given-when-then.js'
import { common, completed, created, eventsTo, later } from './transfer-samples.js'

const { given, fold } = specification(transferDecider)

const ada = 'user:ada'
const sendBack = (returnedAmountMinor: bigint, changes: Partial<ReturnPayout> = {}): ReturnPayout => ({
  type: 'ReturnPayout',
  ...{ returnedAmountMinor, reasonCode: 'AC04', reference: 'RT1', receiptUrl: null, callbackOnMoney: false },
  ...{ by: ada, at: later },
  ...changes,
})
const cameBack = (returnedAmountMinor: bigint, changes: object = {}): TransferEvent => ({
  type: 'WithdrawalReturned',
  data: {
    ...common('withdrawal'),
    ...{ by: ada, returnedAmountMinor, reasonCode: 'AC04', reference: 'RT1', receiptUrl: null, callbackOnMoney: false },
    ...changes,
  },
})
const paid = [created.withdrawal, completed('withdrawal')]
const correct = (amountMinor: bigint, changes: Partial<Correct> = {}): Correct => ({
  type: 'Correct',
  ...{ amountMinor, confirmedAmountMinor: amountMinor, guardFactor: 10, toleranceMinor: 0n },
  ...{ reason: 'mistyped', reference: null, approvalAboveMinor: null, collectedMinor: 0n, correctionDays: 30 },
  ...{ by: ada, at: later },
  ...changes,
})
const corrected = (previousAmountMinor: bigint, transactionAmountMinor: bigint): TransferEvent => ({
  type: 'TransferCorrected',
  data: {
    ...common('withdrawal'),
    ...{ by: ada, reason: 'mistyped', reference: null, proposedBy: null, previousAmountMinor, transactionAmountMinor },
    ...{ receivedAmountChangeMinor: 0n, hasAmountMismatch: true, message: 'amount corrected' },
  },
})
const resolve: TransferCommand = { type: 'ResolveAttention', reason: 'paid in cash', at: later }
const resolved = (resolvedAmountMinor: bigint): TransferEvent => ({
  type: 'AttentionResolved',
  data: { ...common('withdrawal'), resolvedAmountMinor, reason: 'paid in cash' },
})

function moneyOf(history: readonly TransferEvent[]) {
  const state = fold(history)
  if (state.kind !== 'withdrawal') throw new Error('not a withdrawal')
  const { status, transactionAmountMinor: paid } = state
  const [kept, returned, unsettled] = [keptMinor(state), returnedMinor(state), unsettledMinor(state)]
  return { status, paid, kept, returned, unsettled, attention: needsAttention(state) }
}

t.test('money of a completed withdrawal comes back, and the status stays', async (t) => {
  given(...paid)
    .when(sendBack(100_00n, { receiptUrl: 'https://bank.example/1', callbackOnMoney: true }))
    .then([cameBack(100_00n, { receiptUrl: 'https://bank.example/1', callbackOnMoney: true })])
  const all = { status: 'Completed', paid: 100_00n, kept: 0n, returned: 100_00n, unsettled: 100_00n, attention: true }
  t.strictSame(moneyOf([...paid, cameBack(100_00n)]), all)
})

t.test('it comes back in parts, up to the paid amount', async (t) => {
  given(...paid, cameBack(60_00n))
    .when(sendBack(40_00n, { reference: 'RT2', reasonCode: 'NARR' }))
    .then([cameBack(40_00n, { reference: 'RT2', reasonCode: 'NARR' })])
  for (const amount of [40_01n, 100_00n])
    given(...paid, cameBack(60_00n))
      .when(sendBack(amount, { reference: 'RT2' }))
      .then('conflict')
  const decision = transferDecider.decide(sendBack(40_01n, { reference: 'RT2' }), fold([...paid, cameBack(60_00n)]))
  t.match(decision, { refusal: { rule: 'payout-return-too-large', values: { left: 40_00n } } })
})

t.test('only a completed withdrawal', async () => {
  for (const status of ['Pending', 'ManualControl', 'Cancelled', 'Failed'] as const)
    given(created.withdrawal, ...eventsTo('withdrawal')[status])
      .when(sendBack(1n))
      .then('conflict', status)
  given(created.deposit, completed('deposit')).when(sendBack(1n)).then('conflict')
  given().when(sendBack(1n)).then('not-found')
})

t.test('a reference stands for one return', async (t) => {
  const history = [...paid, cameBack(60_00n), corrected(100_00n, 90_00n), resolved(60_00n)]
  given(...history)
    .when(sendBack(60_00n))
    .then([], 'a repeat changes nothing, also after later events')
  for (const changes of [{ returnedAmountMinor: 60_01n }, { reasonCode: 'NARR' }] as const)
    given(...history)
      .when(sendBack(60_00n, changes))
      .then('conflict')
  const decision = transferDecider.decide(sendBack(1n), fold(history))
  t.match(decision, { refusal: { rule: 'payout-return-recorded', values: { returned: 60_00n, code: 'AC04' } } })
})

t.test('a withdrawal has at most 100 returns', async () => {
  const many = Array.from({ length: 100 }, (_, n) => cameBack(1n, { reference: `many ${n}` }))
  given(...paid, ...many)
    .when(sendBack(1n))
    .then('conflict')
  given(...paid, ...many)
    .when(sendBack(1n, { reference: 'many 7' }))
    .then([])
})

t.test('a correction does not fall below the returned money', async (t) => {
  const history = [...paid, cameBack(60_00n)]
  given(...history)
    .when(correct(60_00n))
    .then([corrected(100_00n, 60_00n)])
  given(...history)
    .when(correct(59_99n))
    .then('conflict')
  given(...history)
    .when(correct(59_99n, { approvalAboveMinor: 1n }))
    .then('conflict', 'nor the proposal of one')
  const proposal = { by: ada, reason: 'mistyped', reference: null, correctedAmountMinor: 50_00n }
  const proposed: TransferEvent = { type: 'CorrectionProposed', data: { ...common('withdrawal'), ...proposal } }
  const approve = {
    type: 'ApproveCorrection',
    amountMinor: 50_00n,
    toleranceMinor: 0n,
    collectedMinor: 0n,
    correctionDays: 30,
  } as const
  given(...paid, proposed, cameBack(60_00n))
    .when({ ...approve, by: 'user:grace', at: later })
    .then('conflict', 'nor a proposal of before the return')
  const decision = transferDecider.decide(correct(59_99n), fold(history))
  t.match(decision, { refusal: { rule: 'correction-below-refunds', values: { lowest: 60_00n } } })
})

t.test('the action is possible while paid money has not come back', async (t) => {
  const actor = { by: ada, approvalAboveMinor: null, isManual: false, correctionDays: 30, at: later }
  const possible = (history: readonly TransferEvent[]) =>
    possibleActions(fold(history) as Transfer, actor).includes('payout-returned')
  t.notOk(possible([created.withdrawal]))
  t.ok(possible(paid))
  t.ok(possible([...paid, cameBack(99_99n)]))
  t.notOk(possible([...paid, cameBack(100_00n)]))
  t.notOk(possible([created.deposit, completed('deposit')]))
})

t.test('the returned money needs attention until it is resolved', async (t) => {
  given(...paid, cameBack(60_00n))
    .when(resolve)
    .then([resolved(60_00n)])
  const history = [...paid, cameBack(60_00n), resolved(60_00n)]
  given(...history)
    .when(resolve)
    .then([])
  t.match(moneyOf(history), { kept: 40_00n, returned: 60_00n, unsettled: 0n, attention: false })
  const again = [...history, cameBack(10_00n, { reference: 'RT2' })]
  given(...again)
    .when(resolve)
    .then([resolved(10_00n)])
  t.match(moneyOf(again), { kept: 30_00n, returned: 70_00n, unsettled: 10_00n, attention: true })
})

const iban = 'TR330006100519786457841326'
const payAgain = (amountMinor: bigint, changes: Partial<RequestRepayment> = {}): RequestRepayment => ({
  type: 'RequestRepayment',
  ...{ repaymentId: 'p-1', referenceId: 'again-1', amountMinor, repaymentMethod: 2, accountNumber: iban },
  ...{ identityNumber: null, by: ada, at: later },
  ...changes,
})
const toPayAgain = (repaymentAmountMinor: bigint, changes: object = {}): TransferEvent => ({
  type: 'RepaymentRequested',
  data: {
    ...common('withdrawal'),
    ...{ by: ada, repaymentId: 'p-1', repaymentReferenceId: 'again-1', repaymentAmountMinor, repaymentMethod: 2 },
    ...{ accountNumber: iban, identityNumber: null },
    ...changes,
  },
})
const end = (outcome: EndRepayment['outcome'], by = ada): EndRepayment => ({
  ...{ type: 'EndRepayment', repaymentId: 'p-1', outcome, by, at: later },
})
const ended = (outcome: EndRepayment['outcome'], resolvedAmountMinor: bigint): TransferEvent => ({
  type: 'RepaymentEnded',
  data: { ...common('withdrawal'), by: ada, repaymentId: 'p-1', outcome, resolvedAmountMinor },
})

t.test('returned money is paid again, and needs no decision until then', async (t) => {
  const back = [...paid, cameBack(60_00n)]
  given(...back)
    .when(payAgain(60_00n))
    .then([toPayAgain(60_00n)])
  const open = [...back, toPayAgain(60_00n)]
  t.match(moneyOf(open), { kept: 40_00n, returned: 60_00n, unsettled: 60_00n, attention: false })
  given(...open)
    .when(end('paid'))
    .then([ended('paid', 60_00n)])
  const done = [...open, ended('paid', 60_00n)]
  t.match(moneyOf(done), { kept: 40_00n, returned: 60_00n, unsettled: 0n, attention: false })
  given(...done)
    .when(end('paid'))
    .then([])
  given(...done)
    .when(payAgain(1n, { repaymentId: 'p-2' }))
    .then('conflict', 'repayment-too-large')
  for (const outcome of ['cancelled', 'failed', 'refused'] as const) {
    given(...open)
      .when(end(outcome))
      .then([ended(outcome, 0n)])
    t.match(moneyOf([...open, ended(outcome, 0n)]), { unsettled: 60_00n, attention: true })
    given(...open, ended(outcome, 0n))
      .when(end('paid'))
      .then('conflict', 'refund-not-open')
  }
})

t.test('no more than what came back is paid again, once', async () => {
  const back = [...paid, cameBack(60_00n)]
  given(...back)
    .when(payAgain(60_01n))
    .then('conflict', 'repayment-too-large')
  const open = [...back, toPayAgain(40_00n)]
  given(...open)
    .when(payAgain(40_00n))
    .then([])
  for (const other of [{ amountMinor: 1n }, { accountNumber: 'TR1' }, { repaymentMethod: 3 }, { identityNumber: '1' }])
    given(...open)
      .when(payAgain(40_00n, other))
      .then('conflict', 'reference-reused')
  given(...open)
    .when(payAgain(20_01n, { repaymentId: 'p-2' }))
    .then('conflict', 'repayment-too-large')
  given(...open)
    .when(resolve)
    .then([resolved(20_00n)])
  given(...open, ended('refused', 0n))
    .when(payAgain(40_00n))
    .then('conflict', 'refund-refused')
  given(...paid)
    .when(payAgain(1n))
    .then('conflict', 'repayment-too-large')
  given(created.deposit).when(payAgain(1n)).then('conflict', 'withdrawal-required')
  given(...back)
    .when(end('paid'))
    .then('conflict', 'refund-not-open')
  const erased: TransferEvent = {
    type: 'PersonalDataErased',
    data: { ...common('withdrawal'), paymentMethod: 1, createdAt: later },
  }
  given(...back, erased)
    .when(payAgain(1n))
    .then('conflict', 'customer-erased')
})

t.test('a withdrawal that pays it again is completed with its amount only', async () => {
  const again = { ...created.withdrawal, data: { ...created.withdrawal.data, repaymentOf: 'w-1' } }
  given(again, completed('withdrawal')).when(correct(99_00n)).then('conflict', 'linked-amount-fixed')
})
