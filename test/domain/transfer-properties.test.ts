import { deepStrictEqual, equal, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { isTerminal } from '../../src/domain/transfer/status.js'
import {
  keptMinor,
  needsAttention,
  noFunds,
  reservedMinor,
  returnedMinor,
  type TransferState,
  unsettledMinor,
} from '../../src/domain/transfer/transfer.js'
import type { TransferCommand } from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { decodeEvent, encodeEvent } from '../../src/event-store/event-codec.js'
import type { TransferDocument } from '../../src/read-models/documents.js'
import { documentOf, transferOf } from '../../src/read-models/transfer-document.js'
import { complete, createDeposit, createWithdrawal, later, operator } from './transfer-samples.js'

const at = fc
  .date({ min: new Date('2026-03-01T10:00:00Z'), max: new Date('2026-03-01T12:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString())
const by = { by: fc.constant('cli:ada'), underClaim: fc.constant(false) }
const message = fc.option(fc.string({ maxLength: 20 }))
const command: fc.Arbitrary<TransferCommand> = fc.oneof(
  fc.constant(createDeposit),
  fc.constant(createWithdrawal),
  fc.record({ at, type: fc.constantFrom('SendToManualControl', 'Cancel', 'Fail'), message, ...by }),
  fc.record({ at, type: fc.constant('Expire' as const) }),
  fc
    .record({
      at,
      message,
      amount: fc.bigInt(9_990n, 10_010n),
      toleranceMinor: fc.bigInt(0n, 5n),
      autoCancel: fc.boolean(),
    })
    .map(({ at, message, amount: transactionAmountMinor, ...mismatchPolicy }) => ({
      ...complete,
      at,
      message,
      transactionAmountMinor,
      mismatchPolicy,
    })),
) as fc.Arbitrary<TransferCommand>
const commands = fc.tuple(fc.constantFrom(createDeposit, createWithdrawal), fc.array(command, { maxLength: 30 }))

function play(
  [first, rest]: [TransferCommand, TransferCommand[]],
  each: (state: TransferState, events: readonly TransferEvent[]) => void,
  afterEach: (state: TransferState, command: TransferCommand, events: readonly TransferEvent[]) => void = () => {},
) {
  let state = transferDecider.initialState
  const history: TransferEvent[] = []
  for (const given of [first, ...rest]) {
    const next = onPresent(given, state)
    const decision = transferDecider.decide(next, state)
    const events = decision.accepted ? decision.events : []
    const before = state
    for (const event of events) state = transferDecider.evolve(state, event)
    history.push(...events)
    each(before, events)
    afterEach(state, next, events)
  }
  return { state, history }
}

t.test('no command changes a terminal transfer', async () => {
  fc.assert(
    fc.property(commands, (sequence) => {
      play(sequence, (before, events) => {
        if (before.kind !== 'none' && isTerminal(before.status) && events.length > 0)
          throw new Error('a command changed a terminal transfer')
      })
    }),
    { numRuns: 500 },
  )
})

t.test(
  'a transfer has one creation, at most one terminal event, and no event without a change of status',
  async (t) => {
    const terminal = new Set(['TransferCompleted', 'TransferCancelled', 'TransferFailed'])
    fc.assert(
      fc.property(commands, (sequence) => {
        const types = play(sequence, () => {}).history.map((event) => event.type)
        t.equal(types.filter((type) => type.endsWith('Created')).length, 1)
        t.ok(types.filter((type) => terminal.has(type)).length <= 1)
        t.ok(types.length <= 3, 'a transfer has at most a creation, a manual control and a terminal event')
      }),
      { numRuns: 500 },
    )
  },
)

t.test('an immediate repeat of a command changes nothing', async (t) => {
  fc.assert(
    fc.property(commands, command, (sequence, next) => {
      const { state } = play(sequence, () => {})
      const decision = transferDecider.decide(next, state)
      if (!decision.accepted) return
      const after = decision.events.reduce(transferDecider.evolve, state)
      t.strictSame(transferDecider.decide(next, after), { accepted: true, events: [] })
    }),
    { numRuns: 500 },
  )
})

const minor = fc.oneof(fc.bigInt(1n, 300_00n), fc.constantFrom(40_00n, 60_00n, 95_00n, 100_00n))
const policy = fc.record({ toleranceMinor: fc.constantFrom(0n, 500n), autoCancel: fc.boolean() })
const part: fc.Arbitrary<TransferCommand> = fc
  .record({ amount: minor, reference: fc.nat(8), manualControlAboveMinor: fc.constantFrom(null, 90_00n) })
  .map(({ amount: receivedAmountMinor, reference, manualControlAboveMinor }) => ({
    ...{ type: 'ReceivePart' as const, receivedAmountMinor, reference: `FT-${reference}`, manualControlAboveMinor },
    ...{ receiptUrl: null, isManual: true, toleranceMinor: 0n, guardFactor: 10, at: later },
  }))
const approval: fc.Arbitrary<TransferCommand> = fc
  .record({ amountMinor: minor, by: fc.constantFrom('user:ada', 'user:grace', 'user:grace', 'user:grace') })
  .map((approval) => ({
    ...{
      type: 'ApproveCorrection' as const,
      ...approval,
      toleranceMinor: 0n,
      collectedMinor: 0n,
      correctionDays: 30,
      at: later,
    },
  }))
const payoutReturn: fc.Arbitrary<TransferCommand> = fc
  .record({
    returnedAmountMinor: minor,
    reference: fc.nat(4),
    reasonCode: fc.constantFrom('AC04' as const, 'NARR' as const),
  })
  .map(({ reference, ...back }) => ({
    ...{ type: 'ReturnPayout' as const, ...back, reference: `RT-${reference}`, receiptUrl: null },
    ...{ callbackOnMoney: false, by: 'user:ada', at: later },
  }))
const bankMatch: fc.Arbitrary<TransferCommand> = fc
  .record({
    matchedAmountMinor: minor,
    matched: fc.constantFrom('debit' as const, 'credit' as const, 'return' as const, 'rejection' as const),
    payment: fc.nat(9),
    reference: fc.constantFrom('FT-1', 'RT-1', 'B-1', null),
  })
  .map(({ payment, reference: bankReference, ...match }) => ({
    ...{ type: 'MatchBankPayment' as const, ...match, bankPaymentId: `entry-${payment}`, bankReference },
    ...{ bookedOn: '2026-03-02', bankReasonCode: 'AC04', bankReasonText: null, callbackOnMoney: false },
    ...{ isManual: true, manualControlAboveMinor: null, approvalAboveMinor: null },
    ...{ mismatchPolicy: { toleranceMinor: 0n, autoCancel: false }, ...operator, at: later },
  }))
const refund: fc.Arbitrary<TransferCommand> = fc
  .record({
    amountMinor: fc.oneof(minor, fc.bigInt(1n, 30_00n)),
    number: fc.nat(20),
    to: fc.constantFrom('account' as const, 'wallet' as const),
    approvalAboveMinor: fc.constantFrom(null, 10_00n),
  })
  .map(({ number, ...refund }) => ({
    ...{ type: 'RequestRefund' as const, ...refund, refundId: `refund-${number}`, referenceId: `R-${number}` },
    ...{ refundMethod: 2, accountNumber: 'TR33', identityNumber: null, by: 'user:ada', at: later },
    ...{ paidFrom: { accountNumber: 4711, amountMinor: 120_00n }, walletRefunds: true },
  }))
/** A step of any refund, whose id is chosen by {@link onPresent}. */
const refundStep: fc.Arbitrary<TransferCommand> = fc
  .record({
    step: fc.constantFrom(
      'ApproveRefund' as const,
      'CompleteRefund' as const,
      'CompleteRefund' as const,
      'EndRefund' as const,
    ),
    number: fc.nat(99),
    outcome: fc.constantFrom('cancelled' as const, 'failed' as const, 'rejected' as const, 'refused' as const),
  })
  .map(({ step, number, outcome }) => {
    const common = { refundId: String(number), by: 'user:grace', toleranceMinor: 0n, callbackOnMoney: false, at: later }
    return step === 'EndRefund' ? { type: step, ...common, outcome } : { type: step, ...common }
  })
const moneyCommand: fc.Arbitrary<TransferCommand> = fc.oneof(
  fc
    .record({
      amount: fc.option(minor, { nil: undefined }),
      mismatchPolicy: policy,
      reason: fc.constantFrom(null, 'so'),
    })
    .map(({ amount, ...rest }) => ({
      ...complete,
      ...rest,
      ...(amount !== undefined && { transactionAmountMinor: amount }),
    })),
  fc.constantFrom('SendToManualControl' as const, 'Cancel' as const, 'Fail' as const).map((type) => ({
    ...{ type, message: null, ...operator, at: later },
  })),
  fc
    .record({ receivedAmountMinor: minor, mismatchPolicy: policy, manualControlAboveMinor: fc.constantFrom(null, 1n) })
    .map((received) => ({ type: 'ReceiveFunds' as const, ...received, receiptUrl: null, at: later })),
  fc
    .record({ amountMinor: minor, receipt: fc.nat(5), approvalAboveMinor: fc.constantFrom(null, 30_00n) })
    .map(({ amountMinor, receipt, approvalAboveMinor }) => ({
      ...{ type: 'ReturnFunds' as const, amountMinor, toleranceMinor: 0n, approvalAboveMinor, callbackOnMoney: false },
      ...{ receiptUrl: `https://bank.example/${receipt}`, refundId: `return-${receipt}`, by: 'user:ada', at: later },
    })),
  refund,
  refund,
  refundStep,
  refundStep,
  refundStep,
  part,
  fc
    .record({
      amountMinor: minor,
      reference: fc.option(fc.nat(3)),
      approvalAboveMinor: fc.constantFrom(null, 50_00n, 50_00n),
    })
    .map(({ amountMinor, reference, approvalAboveMinor }) => ({
      ...{ type: 'Correct' as const, amountMinor, confirmedAmountMinor: amountMinor, approvalAboveMinor },
      ...{ reference: reference === null ? null : `CASE-${reference}`, reason: 'mistyped', by: 'user:ada' },
      ...{ toleranceMinor: 0n, guardFactor: 10, collectedMinor: 0n, correctionDays: 30, at: later },
    })),
  approval,
  approval,
  payoutReturn,
  bankMatch,
  fc.constant({ type: 'ResolveAttention' as const, reason: 'settled', at: later }),
  fc.constant({ type: 'Reopen' as const, reason: 'the money arrived', at: later }),
)

/** Names the proposed amount and an existing refund, which random ones rarely match. */
function onPresent(command: TransferCommand, state: TransferState): TransferCommand {
  const refunds = state.kind === 'deposit' ? state.refunds : []
  const repayments = state.kind === 'withdrawal' ? state.repayments : []
  if (command.type === 'EndRepayment' && repayments.length > 0)
    return { ...command, repaymentId: repayments[Number(command.repaymentId) % repayments.length]!.repaymentId }
  const isStep = command.type === 'ApproveRefund' || command.type === 'CompleteRefund' || command.type === 'EndRefund'
  if (isStep && refunds.length > 0)
    return { ...command, refundId: refunds[Number(command.refundId) % refunds.length]!.refundId }
  const isApproval = command.type === 'ApproveCorrection' && state.kind !== 'none' && state.proposedCorrection
  return isApproval ? { ...command, amountMinor: isApproval.amountMinor } : command
}

const repayment: fc.Arbitrary<TransferCommand> = fc
  .record({ amountMinor: fc.oneof(minor, fc.bigInt(1n, 20_00n)), number: fc.nat(20) })
  .map(({ amountMinor, number }) => ({
    ...{ type: 'RequestRepayment' as const, amountMinor, repaymentId: `again-${number}`, referenceId: `A-${number}` },
    ...{ repaymentMethod: 2, accountNumber: 'TR33', identityNumber: null, by: 'user:ada', at: later },
  }))
/** The end of any repayment, whose id is chosen by {@link onPresent}. */
const repaymentEnd: fc.Arbitrary<TransferCommand> = fc
  .record({ repaymentId: fc.nat(99).map(String), outcome: fc.constantFrom('paid' as const, 'cancelled' as const) })
  .map((ending) => ({ type: 'EndRepayment' as const, ...ending, by: 'user:grace', at: later }))

t.test('received = booked + held + returned + resolved after any sequence', async (t) => {
  const seen = { booked: 0, returned: 0, resolved: 0, unsettled: 0, assumed: 0, stated: 0 }
  const done = {
    completedByParts: 0,
    corrected: 0,
    approved: 0,
    reduced: 0,
    refunded: 0,
    refundedToWallet: 0,
    ended: 0,
  }
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 3 }),
      fc.array(moneyCommand, { maxLength: 40, size: 'max' }),
      (parts, others) => {
        let before = noFunds
        play(
          [createDeposit, [...parts, ...others]],
          (_, events) => {
            const types = events.map(({ type }) => type)
            if (types.includes('FundsReceived') && types.includes('TransferCompleted')) done.completedByParts++
            for (const { type, data } of events) {
              if (type === 'FundsReturned' && data.bookedAmountMinor! > 0n) done.refunded++
              if (type === 'RefundApproved') done.refundedToWallet++
              if (type === 'RefundEnded') done.ended++
              if (type !== 'TransferCorrected') continue
              done.corrected++
              if (data.proposedBy !== null) done.approved++
              if (data.receivedAmountChangeMinor < 0n) done.reduced++
            }
          },
          (state, command, events) => {
            if (state.kind !== 'deposit') throw new Error('the transfer is not a deposit')
            const { funds, status, transactionAmountMinor } = state
            const booked = status === 'Completed' ? transactionAmountMinor - funds.refundedMinor : 0n
            const returned = returnedMinor(funds)
            const unsettled = unsettledMinor(state)
            equal(funds.receivedMinor, booked + returned + funds.resolvedMinor + unsettled)
            const { resolvedMinor: resolved, assumedMinor: assumed, statedMinor: stated } = funds
            const parts = { booked, returned, resolved, unsettled, assumed, stated }
            for (const [name, part] of Object.entries(parts) as [keyof typeof seen, bigint][]) {
              if (part < 0n) throw new Error(`${name} is ${part}`)
              if (part > 0n) seen[name]++
            }
            if (status !== 'Completed') equal(transactionAmountMinor, funds.receivedMinor - returned)
            const refunded = state.refunds.filter((each) => each.state === 'returned')
            const paidMinor = refunded.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
            ok(paidMinor <= returned, 'each refund returned its amount')
            const reserved = reservedMinor(state)
            ok(reserved <= booked + unsettled, 'open refunds never exceed the money that is left')
            ok(
              paidMinor + reserved <= funds.receivedMinor - resolved,
              'nor do open and done ones exceed the received money',
            )
            const isWaiting = status === 'Pending' && unsettled < state.amountMinor
            const isProposed =
              state.refunds.some(({ state }) => state === 'proposed') || state.proposedCorrection !== null
            const isUndecided = (unsettled > reserved && !isWaiting) || assumed > 0n || isProposed
            equal(needsAttention(state), isUndecided)
            ok(
              funds.receivedMinor - stated >= returned - funds.refundedMinor + resolved,
              'money that was returned or resolved is never booked',
            )
            const references = funds.payments.map(({ reference }) => reference)
            equal(new Set(references).size, references.length, 'a reference stands for one payment')
            const recorded = funds.payments.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
            ok(recorded <= funds.receivedMinor, 'recorded payments stay received')
            if (command.type !== 'Correct' && command.type !== 'ApproveCorrection')
              ok(funds.receivedMinor >= before.receivedMinor, 'only a correction decreases the received money')
            else equal(funds.receivedMinor - before.receivedMinor, stated - before.statedMinor, 'by the stated money')
            if (command.type === 'ReceiveFunds') {
              equal(
                funds.receivedMinor,
                before.receivedMinor + command.receivedAmountMinor,
                'the received amount is added exactly',
              )
            } else if (command.type === 'ReceivePart') {
              const isNew = funds.payments.length > before.payments.length
              const part = isNew ? command.receivedAmountMinor : 0n
              equal(funds.receivedMinor, before.receivedMinor + part, 'a payment is added once')
            } else if (command.type === 'MatchBankPayment') {
              const last = events.at(-1)
              const isNew = last?.type === 'BankPaymentMatched' && last.data.effect === 'received'
              const part = isNew ? command.matchedAmountMinor : 0n
              equal(funds.receivedMinor, before.receivedMinor + part, 'a payment of the bank is added once')
            } else if (
              command.type !== 'Complete' &&
              command.type !== 'Correct' &&
              command.type !== 'ApproveCorrection'
            ) {
              equal(funds.receivedMinor, before.receivedMinor, `${command.type} does not change the received money`)
            }
            before = funds
          },
        )
      },
    ),
    { numRuns: 1_600 },
  )
  for (const [name, count] of Object.entries({ ...seen, ...done })) t.ok(count > 20, `${name} occurred ${count} times`)
})

t.test(
  'paid = kept + returned after any sequence, and a withdrawal needs attention while returned money is undecided',
  async (t) => {
    const seen = {
      kept: 0,
      returned: 0,
      resolved: 0,
      unsettled: 0,
      rejected: 0,
      repeated: 0,
      corrected: 0,
      repaid: 0,
      paidByBank: 0,
    }
    const payoutCommand = fc.oneof(
      moneyCommand,
      bankMatch,
      payoutReturn,
      payoutReturn,
      repayment,
      repaymentEnd,
      repaymentEnd,
    )
    const history = fc.tuple(fc.boolean(), fc.array(payoutCommand, { maxLength: 40, size: 'max' }))
    fc.assert(
      fc.property(history, ([isPaid, others]) => {
        let before = 0n
        play(
          [createWithdrawal, [...(isPaid ? [complete] : []), ...others]],
          (_, events) => {
            if (events.some(({ type }) => type === 'TransferCorrected')) seen.corrected++
            if (events.some(({ type, data }) => type === 'RepaymentEnded' && data.outcome === 'paid')) seen.repaid++
          },
          (state, command) => {
            if (state.kind !== 'withdrawal') throw new Error('the transfer is not a withdrawal')
            const { status, transactionAmountMinor, returns, resolvedMinor: resolved } = state
            const [kept, returned, unsettled] = [keptMinor(state), returnedMinor(state), unsettledMinor(state)]
            equal(status === 'Completed' ? transactionAmountMinor : 0n, kept + returned)
            equal(returned, resolved + unsettled)
            for (const [name, part] of Object.entries({ kept, returned, resolved, unsettled }) as [
              keyof typeof seen,
              bigint,
            ][]) {
              if (part < 0n) throw new Error(`${name} is ${part}`)
              if (part > 0n) seen[name]++
            }
            const reserved = reservedMinor(state)
            ok(reserved <= unsettled, 'no more than the returned money is paid again')
            equal(needsAttention(state), unsettled > reserved || state.proposedCorrection !== null)
            equal(
              new Set(returns.map(({ reference }) => reference)).size,
              returns.length,
              'a reference stands for one return',
            )
            const ids = state.bankPayments.map(({ bankPaymentId }) => bankPaymentId)
            equal(new Set(ids).size, ids.length, 'a payment of the bank takes effect once')
            const payments = state.bankPayments.filter(({ effect }) => effect === 'completed')
            ok(payments.length <= 1, 'one payment of the bank completes a withdrawal')
            if (payments.length === 1) seen.paidByBank++
            if (command.type === 'MatchBankPayment') {
              const last = state.bankPayments.at(-1)
              const isNew = returned > before
              if (isNew) equal(returned, before + command.matchedAmountMinor)
              if (isNew) equal(last?.effect, 'returned')
            } else if (command.type === 'ReturnPayout') {
              const own = returns.find(({ reference }) => reference === command.reference)
              const isNew = returned > before
              if (isNew) equal(returned, before + command.returnedAmountMinor)
              else if (own?.amountMinor === command.returnedAmountMinor && own.reasonCode === command.reasonCode)
                seen.repeated++
              else seen.rejected++
            } else equal(returned, before, `${command.type} does not change the returned money`)
            if (command.type === 'ResolveAttention') equal(unsettled, reserved)
            before = returned
          },
        )
      }),
      { numRuns: 2_000 },
    )
    for (const [name, count] of Object.entries(seen)) t.ok(count > 20, `${name} occurred ${count} times`)
  },
)

t.test('stored and decoded events fold to the same state', async () => {
  const metadata = { actor: 'system:test', $correlationId: 'c', $causationId: 'c' }
  fc.assert(
    fc.property(
      fc.oneof(commands, fc.tuple(fc.constantFrom(createDeposit, createWithdrawal), fc.array(moneyCommand))),
      (sequence) => {
        const { state, history } = play(sequence, () => {})
        const stored = history.map((event, revision) => {
          const encoded = JSON.parse(JSON.stringify(encodeEvent(event, metadata)))
          return { ...encoded, stream: 'transfer-x', revision, position: { commit: 0n, prepare: 0n }, recordedAtMs: 0 }
        })
        const read = stored.map((recorded) => decodeEvent(recorded) as TransferEvent)
        deepStrictEqual(read, history)
        deepStrictEqual(read.reduce(transferDecider.evolve, transferDecider.initialState), state)
        if (state.kind === 'none') return
        const document = JSON.parse(JSON.stringify(documentOf(state, 0, 0))) as TransferDocument
        deepStrictEqual(transferOf(document), state, 'the read model keeps the same state')
      },
    ),
    { numRuns: 200 },
  )
})
