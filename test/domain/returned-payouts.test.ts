import t from 'tap'
import { possibleActions } from '../../src/domain/transfer/allowed-actions.js'
import {
  keptMinor,
  needsAttention,
  returnedMinor,
  type Transfer,
  unsettledMinor,
} from '../../src/domain/transfer/transfer.js'
import type { Correct, ReturnPayout, TransferCommand } from '../../src/domain/transfer/transfer-commands.js'
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
  ...{ reason: 'mistyped', reference: null, approvalAboveMinor: null, correctionDays: 30 },
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
  const approve = { type: 'ApproveCorrection', amountMinor: 50_00n, toleranceMinor: 0n, correctionDays: 30 } as const
  given(...paid, proposed, cameBack(60_00n))
    .when({ ...approve, by: 'user:grace', at: later })
    .then('conflict', 'nor a proposal of before the return')
  const decision = transferDecider.decide(correct(59_99n), fold(history))
  t.match(decision, { refusal: { rule: 'correction-below-returned', values: { returned: 60_00n } } })
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
