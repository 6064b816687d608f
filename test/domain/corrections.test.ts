import t from 'tap'
import { possibleActions } from '../../src/domain/transfer/allowed-actions.js'
import { needsAttention, type Transfer, unsettledMinor } from '../../src/domain/transfer/transfer.js'
import type { ApproveCorrection, Correct, TransferCommand } from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { specification } from '../support/given-when-then.js'
import { common, completed, created, eventsTo, type Kind, later, operator } from './transfer-samples.js'

const { given, fold } = specification(transferDecider)

const ada = 'user:ada'
const grace = 'user:grace'
const correct = (amountMinor: bigint, changes: Partial<Correct> = {}): Correct => ({
  type: 'Correct',
  ...{ amountMinor, confirmedAmountMinor: amountMinor, guardFactor: 10, toleranceMinor: 0n },
  ...{ reason: 'mistyped', reference: null, approvalAboveMinor: null, collectedMinor: 0n, correctionDays: 30 },
  ...{ by: ada, at: later },
  ...changes,
})
const approve = (amountMinor: bigint, changes: Partial<ApproveCorrection> = {}): ApproveCorrection => ({
  type: 'ApproveCorrection',
  ...{ amountMinor, toleranceMinor: 0n, collectedMinor: 0n, correctionDays: 30, by: grace, at: later },
  ...changes,
})

interface Changes {
  readonly receivedAmountChangeMinor?: bigint
  readonly [field: string]: unknown
}
function corrected(kind: Kind, previousAmountMinor: bigint, transactionAmountMinor: bigint, changes: Changes = {}) {
  const data = {
    ...common(kind),
    ...{ by: ada, reason: 'mistyped', reference: null, proposedBy: null, previousAmountMinor, transactionAmountMinor },
    receivedAmountChangeMinor: kind === 'deposit' ? transactionAmountMinor - previousAmountMinor : 0n,
    hasAmountMismatch: transactionAmountMinor !== 100_00n,
    message: 'amount corrected',
    ...changes,
  }
  return { type: 'TransferCorrected', data } as const satisfies TransferEvent
}
const proposed = (kind: Kind, correctedAmountMinor: bigint, changes: object = {}): TransferEvent => ({
  type: 'CorrectionProposed',
  data: { ...common(kind), by: ada, reason: 'mistyped', reference: null, correctedAmountMinor, ...changes },
})
const booked = (kind: Kind, transactionAmountMinor = 195_00n) => [
  created[kind],
  completed(kind, { transactionAmountMinor, hasAmountMismatch: true }),
]
const late = (receivedAmountMinor: bigint): TransferEvent => ({
  type: 'LateFundsReceived',
  data: { ...common('deposit'), receivedAmountMinor, receiptUrl: null, hasAmountMismatch: true, reference: null },
})
const resolve: TransferCommand = { type: 'ResolveAttention', reason: 'recorded twice', at: later }

function moneyOf(history: readonly TransferEvent[]) {
  const state = fold(history) as Transfer
  const { status, transactionAmountMinor, hasAmountMismatch, message } = state
  const receivedMinor = state.kind === 'deposit' ? state.funds.receivedMinor : null
  const unsettled = unsettledMinor(state)
  const attention = needsAttention(state)
  return { status, transactionAmountMinor, hasAmountMismatch, message, receivedMinor, unsettled, attention }
}

t.test('a correction keeps the status and replaces the booked amount', async (t) => {
  for (const kind of ['deposit', 'withdrawal'] as const) {
    const event = corrected(kind, 195_00n, 95_00n)
    given(...booked(kind))
      .when(correct(95_00n))
      .then([event])
    t.strictSame(moneyOf([...booked(kind), event]), {
      ...{ status: 'Completed', transactionAmountMinor: 95_00n, hasAmountMismatch: true, message: 'amount corrected' },
      ...{ receivedMinor: kind === 'deposit' ? 95_00n : null, unsettled: 0n, attention: false },
    })
  }
})

t.test('a mismatch is decided again, by the tolerance of the correction', async () => {
  given(...booked('deposit'))
    .when(correct(99_00n, { toleranceMinor: 1_00n }))
    .then([corrected('deposit', 195_00n, 99_00n, { hasAmountMismatch: false })])
})

t.test('only a completed transfer can be corrected', async () => {
  for (const status of ['Pending', 'ManualControl', 'Cancelled', 'Failed'] as const)
    given(created.deposit, ...eventsTo('deposit')[status])
      .when(correct(95_00n))
      .then('conflict')
  given().when(correct(95_00n)).then('not-found')
})

t.test('for the days after the completion, counted from the completion', async () => {
  const end = '2026-03-31T10:05:00.000Z'
  given(...booked('deposit'))
    .when(correct(95_00n, { at: '2026-03-31T10:04:59.999Z' }))
    .then([corrected('deposit', 195_00n, 95_00n, { at: '2026-03-31T10:04:59.999Z' })])
  given(...booked('deposit'))
    .when(correct(95_00n, { at: end }))
    .then('conflict')
  given(...booked('deposit'))
    .when(correct(95_00n, { correctionDays: 0 }))
    .then('conflict')
  given(...booked('deposit'), proposed('deposit', 95_00n))
    .when(approve(95_00n, { at: end }))
    .then('conflict')
})

t.test('the booked amount changes nothing, and a reference is used once', async () => {
  given(...booked('deposit'))
    .when(correct(195_00n))
    .then([])
  const event = corrected('deposit', 195_00n, 95_00n, { reference: 'CASE-1' })
  given(...booked('deposit'), event)
    .when(correct(95_00n, { reference: 'CASE-1' }))
    .then([])
  const second = corrected('deposit', 95_00n, 90_00n, { reference: 'CASE-2' })
  given(...booked('deposit'), event, second)
    .when(correct(95_00n, { reference: 'CASE-1' }))
    .then([], 'a late repeat does not undo the second correction')
  given(...booked('deposit'), event, second)
    .when(correct(80_00n, { reference: 'CASE-1' }))
    .then('conflict')
})

t.test('a transfer has at most 100 corrections and proposals', async () => {
  const many = Array.from({ length: 100 }, (_, n) => corrected('deposit', 195_00n - BigInt(n), 194_00n - BigInt(n)))
  given(...booked('deposit'), ...many)
    .when(correct(95_00n))
    .then('conflict')
  const proposals = Array.from({ length: 100 }, (_, n) => proposed('deposit', 94_00n - BigInt(n)))
  const threshold = { approvalAboveMinor: 150_00n }
  given(...booked('deposit'), ...proposals)
    .when(correct(95_00n, threshold))
    .then('conflict')
  given(...booked('deposit'), ...proposals)
    .when(correct(94_00n - 99n, threshold))
    .then([], 'a repeat of the latest proposal')
  given(...booked('deposit'), ...proposals)
    .when(approve(94_00n - 99n))
    .then([corrected('deposit', 195_00n, 94_00n - 99n, { by: grace, proposedBy: ada })])
})

t.test('an unlikely amount must be confirmed', async () => {
  given(...booked('deposit'))
    .when(correct(1_000_01n, { confirmedAmountMinor: undefined }))
    .then('conflict')
  given(...booked('deposit'))
    .when(correct(95_00n, { confirmedAmountMinor: undefined }))
    .then([corrected('deposit', 195_00n, 95_00n)])
  given(...booked('withdrawal', 90_00n))
    .when(correct(101_00n, { confirmedAmountMinor: undefined }))
    .then('conflict', 'more was paid than requested')
})

t.test('above the threshold, before or after, a second person approves', async (t) => {
  for (const [from, to] of [
    [195_00n, 95_00n],
    [95_00n, 195_00n],
  ] as const)
    for (const kind of ['deposit', 'withdrawal'] as const) {
      const threshold = { approvalAboveMinor: 150_00n }
      given(...booked(kind, from))
        .when(correct(to, threshold))
        .then([proposed(kind, to)])
      const open = [...booked(kind, from), proposed(kind, to)]
      t.match(moneyOf(open), { transactionAmountMinor: from, attention: true })
      given(...open)
        .when(correct(to, threshold))
        .then([])
      given(...open)
        .when(approve(to, { by: ada }))
        .then('conflict', 'not the same person')
      given(...open)
        .when(approve(to + 1n))
        .then('conflict', 'not a different amount')
      const done = corrected(kind, from, to, { by: grace, proposedBy: ada })
      given(...open)
        .when(approve(to))
        .then([done])
      t.match(moneyOf([...open, done]), { transactionAmountMinor: to, attention: false })
      given(...open, done)
        .when(approve(to))
        .then([])
    }
  given(...booked('withdrawal', 90_00n))
    .when(correct(80_00n, { approvalAboveMinor: 99_00n }))
    .then([proposed('withdrawal', 80_00n)], 'the requested amount is above the threshold')
  given(...booked('deposit', 140_00n))
    .when(correct(150_00n, { approvalAboveMinor: 150_00n }))
    .then([corrected('deposit', 140_00n, 150_00n)])
  given(...booked('deposit'))
    .when(approve(95_00n))
    .then('conflict', 'nothing is proposed')
})

t.test('a new proposal replaces the earlier one, and an approver can reject it', async (t) => {
  const open = [...booked('withdrawal'), proposed('withdrawal', 95_00n)]
  const threshold = { approvalAboveMinor: 150_00n }
  const other = proposed('withdrawal', 96_00n, { by: grace })
  given(...open)
    .when(correct(96_00n, { ...threshold, by: grace }))
    .then([other])
  given(...open, other)
    .when(approve(95_00n, { by: ada }))
    .then('conflict')
  const data = { ...common('withdrawal'), resolvedAmountMinor: 0n, reason: 'recorded twice' }
  const rejected: TransferEvent = { type: 'AttentionResolved', data }
  given(...open)
    .when(resolve)
    .then([rejected])
  t.match(moneyOf([...open, rejected]), { transactionAmountMinor: 195_00n, attention: false })
  given(...open, rejected)
    .when(approve(95_00n))
    .then('conflict')
})

t.test('money that was recorded before the completion is kept, and the rest needs a decision', async (t) => {
  const held = [created.deposit, ...eventsTo('deposit').ManualControl, late(100_00n)]
  const all = [...held, completed('deposit', { transactionAmountMinor: 100_00n, receivedAmountMinor: 0n })]
  const less = corrected('deposit', 100_00n, 40_00n, { receivedAmountChangeMinor: 0n })
  given(...all)
    .when(correct(40_00n))
    .then([less])
  t.match(moneyOf([...all, less]), { receivedMinor: 100_00n, unsettled: 60_00n, attention: true })
  const again = corrected('deposit', 40_00n, 100_00n, { receivedAmountChangeMinor: 0n })
  given(...all, less)
    .when(correct(100_00n))
    .then([again])
  t.match(moneyOf([...all, less, again]), { receivedMinor: 100_00n, unsettled: 0n, attention: false })
  const more = corrected('deposit', 100_00n, 130_00n, { receivedAmountChangeMinor: 30_00n })
  given(...all)
    .when(correct(130_00n))
    .then([more])
  t.match(moneyOf([...all, more]), { receivedMinor: 130_00n, unsettled: 0n, attention: true }, 'only a word proves it')
})

t.test('a correction never books money that was returned or resolved', async (t) => {
  const back = { returnedAmountMinor: 60_00n, receiptUrl: 'https://bank.example/b', hasAmountMismatch: true }
  const history = [
    ...[created.deposit, ...eventsTo('deposit').ManualControl, late(100_00n)],
    completed('deposit', { transactionAmountMinor: 40_00n, receivedAmountMinor: 0n, reason: 'a part' }),
    { type: 'FundsReturned', data: { ...common('deposit'), ...back } } as const,
  ]
  const event = corrected('deposit', 40_00n, 100_00n, { receivedAmountChangeMinor: 60_00n })
  given(...history)
    .when(correct(100_00n))
    .then([event])
  t.match(moneyOf([...history, event]), { receivedMinor: 160_00n, unsettled: 0n, attention: true })
})

t.test('the actions are offered where they would change something', async (t) => {
  const actor = { by: ada, approvalAboveMinor: null, isManual: true, correctionDays: 30, at: later }
  const actionsOf = (history: readonly TransferEvent[], by = ada) =>
    possibleActions(fold(history) as Transfer, { ...actor, by }).filter((each) => each.includes('correct'))
  t.strictSame(actionsOf(booked('withdrawal')), ['correct'])
  t.strictSame(actionsOf([created.deposit]), [])
  const open = [...booked('withdrawal'), proposed('withdrawal', 95_00n)]
  t.strictSame(actionsOf(open), ['correct'], 'the proposer cannot approve')
  t.strictSame(actionsOf(open, grace), ['correct', 'approve-correction'])
  t.notOk(possibleActions(fold(open) as Transfer, { ...actor, ...operator }).includes('complete'))
})

t.test('a correction changes no money that the wallet has collected (simulated seed 81)', async (t) => {
  const kept = (to: bigint, receivedAmountChangeMinor: bigint) =>
    corrected('deposit', 195_00n, to, { receivedAmountChangeMinor, hasAmountMismatch: true })
  const collected = { collectedMinor: 195_00n }
  given(...booked('deposit'))
    .when(correct(95_00n, collected))
    .then([kept(95_00n, 0n)])
  given(...booked('deposit'))
    .when(correct(200_00n, collected))
    .then([kept(200_00n, 5_00n)])
  given(...booked('deposit'))
    .when(correct(95_00n, { collectedMinor: 50_00n }))
    .then([kept(95_00n, -100_00n)])
  const state = fold([...booked('deposit'), kept(95_00n, 0n)]) as Transfer
  t.match([unsettledMinor(state), needsAttention(state)], [100_00n, true], 'the rest needs a decision')
})
