import { deepStrictEqual, equal, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { activeClaim, maxSteps } from '../../src/domain/transfer/payout.js'
import type { TransferState, Withdrawal } from '../../src/domain/transfer/transfer.js'
import type {
  ChangeStatus,
  Complete,
  RepeatedPayout,
  TransferCommand,
} from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { addMs, minuteMs } from '../../src/kernel/time.js'
import { specification } from '../support/given-when-then.js'
import {
  cancelled,
  common,
  complete,
  completed,
  createWithdrawal,
  depositCreated,
  eventsTo,
  later,
  operator,
  withdrawalCreated,
} from './transfer-samples.js'

const { given, fold } = specification(transferDecider)
const { accountNumber } = createWithdrawal
const [ada, bob, cem] = ['user:ada', 'user:bob', 'user:cem']
const until = '2026-03-01T10:20:00.000Z'
const minutes = (count: number) => addMs(later, count * minuteMs)

const claim = (by: string, at = later): TransferCommand => ({ type: 'Claim', by, at })
const release = (by: string, at = later, underClaim = true): TransferCommand => ({
  type: 'Release',
  by,
  underClaim,
  at,
})
const claimed = (by: string, at = later): TransferEvent => ({
  type: 'WithdrawalClaimed',
  data: { ...common('withdrawal', at), by, until: addMs(at, 15 * minuteMs) },
})
const released = (by: string, at = later): TransferEvent => ({
  type: 'WithdrawalReleased',
  data: { ...common('withdrawal', at), by },
})
const approve = (by: string, changes: object = {}): TransferCommand => ({
  ...{ type: 'Approve', by, approvalAboveMinor: 50_00n, at: later },
  ...changes,
})
const approved = (by: string, changes: object = {}): TransferEvent => ({
  type: 'WithdrawalApproved',
  data: { ...common('withdrawal'), by, accountNumber, approvedAmountMinor: 100_00n, ...changes },
})
const pay = (by: string, changes: Partial<Complete> = {}): Complete => ({
  ...complete,
  by,
  underClaim: true,
  ...changes,
})
const settle = (type: ChangeStatus['type'], by: string, changes: Partial<ChangeStatus> = {}): ChangeStatus => ({
  ...{ type, message: null, by, underClaim: true, at: later },
  ...changes,
})

/** Returns the rule that rejects the command. */
function ruleOf(command: TransferCommand, ...history: TransferEvent[]): string | undefined {
  const decision = transferDecider.decide(command, fold(history))
  if (decision.accepted) throw new Error(`${command.type} was accepted`)
  return decision.refusal.rule
}

t.test('a withdrawal that is Pending or in ManualControl can be claimed for 15 minutes', async (t) => {
  for (const status of ['Pending', 'ManualControl'] as const) {
    const history = [withdrawalCreated, ...eventsTo('withdrawal')[status]]
    given(...history)
      .when(claim(ada))
      .then([claimed(ada)], status)
    t.match(fold([...history, claimed(ada)]), { status, updatedAt: later, payout: { claim: { by: ada, until } } })
  }
  equal(claimed(ada).data.at < until, true)
  for (const status of ['Completed', 'Cancelled', 'Failed'] as const) {
    const ended = [withdrawalCreated, ...eventsTo('withdrawal')[status]]
    for (const command of [claim(ada), approve(ada)]) t.equal(ruleOf(command, ...ended), 'status-final', status)
    given(...ended)
      .when(release(ada))
      .then([], status)
  }
  for (const command of [claim(ada), release(ada), approve(ada)]) given(depositCreated).when(command).then('conflict')
})

t.test(
  'no one else can claim, release or settle a claimed withdrawal, and the refusal names the claimant',
  async (t) => {
    const history = [withdrawalCreated, claimed(ada)]
    const others = [
      ...[claim(bob), release(bob), pay(bob), settle('Cancel', bob)],
      ...[settle('Fail', 'cli:root', operator), settle('SendToManualControl', bob), { ...complete, ...operator }],
    ]
    for (const command of others) {
      t.equal(ruleOf(command, ...history), 'claimed-by-another', command.type)
      const decision = transferDecider.decide(command, fold(history))
      t.match(decision, { refusal: { values: { by: ada, until } } }, command.type)
    }
    given(...history)
      .when(pay(ada))
      .then([completed('withdrawal')])
    given(...history)
      .when(settle('Cancel', ada))
      .then([cancelled('withdrawal')])
  },
)

t.test('a claim expires automatically', async (t) => {
  const history = [withdrawalCreated, claimed(ada)]
  t.equal(ruleOf(claim(bob, minutes(14.999)), ...history), 'claimed-by-another')
  given(...history)
    .when(claim(bob, until))
    .then([claimed(bob, until)])
  given(...history)
    .when(release(ada, until))
    .then([], 'an expired claim needs no release')
  t.equal(activeClaim(fold(history) as Withdrawal, minutes(14))?.by, ada)
  t.equal(activeClaim(fold(history) as Withdrawal, until), null)
  const operators = { ...complete, ...operator, at: until }
  given(...history)
    .when(operators)
    .then([completed('withdrawal', { at: until })])
})

t.test('a repeated claim by the claimant renews the claim only if little time is left', async () => {
  const history = [withdrawalCreated, claimed(ada)]
  given(...history)
    .when(claim(ada, minutes(9.9)))
    .then([])
  given(...history)
    .when(claim(ada, minutes(10)))
    .then([claimed(ada, minutes(10))])
})

t.test('a released withdrawal can be claimed immediately', async () => {
  const history = [withdrawalCreated, claimed(ada)]
  given(...history)
    .when(release(ada))
    .then([released(ada)])
  given(...history, released(ada))
    .when(release(ada))
    .then([])
  given(...history, released(ada))
    .when(claim(bob))
    .then([claimed(bob)])
})

t.test('limits the number of claims by one user, and no one else', async (t) => {
  const loop = Array.from({ length: maxSteps }, () => [claimed(ada), released(ada)]).flat()
  const history = [withdrawalCreated, ...loop]
  given(...history)
    .when(claim(ada))
    .then('conflict')
  given(...history)
    .when(claim(bob))
    .then([claimed(bob)], 'no one else is locked out')
  given(...history)
    .when(approve(cem))
    .then([approved(cem)])
  given(...history)
    .when(complete)
    .then([completed('withdrawal')])
  t.match(fold(history), { payout: { claimants: [ada], steps: [{ by: ada, count: maxSteps }] } })
})

t.test(
  'the dashboard settles a withdrawal only under the actor’s own claim, and reports an expired claim',
  async (t) => {
    for (const command of [pay(ada), settle('Cancel', ada), settle('Fail', ada)]) {
      t.equal(ruleOf(command, withdrawalCreated), 'claim-needed', command.type)
      const late = { ...command, at: until }
      t.equal(ruleOf(late, withdrawalCreated, claimed(ada)), 'claim-expired', command.type)
      t.equal(
        ruleOf(late, withdrawalCreated, claimed(bob)),
        'claim-needed',
        `${command.type} after the claim of another user`,
      )
      t.equal(
        ruleOf(command, withdrawalCreated, claimed(ada), released(ada)),
        'claim-needed',
        'a released claim does not count',
      )
    }
    given(depositCreated)
      .when(pay(ada))
      .then([completed('deposit')], 'a deposit has no claims')
  },
)

t.test('above the merchant’s threshold, a withdrawal is completed only after another user approves it', async (t) => {
  const above = { approvalAboveMinor: 50_00n }
  const history = [withdrawalCreated, claimed(ada)]
  t.equal(ruleOf(pay(ada, above), ...history), 'approval-needed')
  given(...history)
    .when(approve(bob))
    .then([approved(bob)])
  given(...history, approved(bob))
    .when(approve(bob))
    .then([], 'a repeated approval changes nothing')
  given(...history, approved(bob))
    .when(approve(cem))
    .then([], 'a second approval is not needed')
  given(...history, approved(bob))
    .when(pay(ada, above))
    .then([completed('withdrawal')])
  given(...history)
    .when(pay(ada, { approvalAboveMinor: 100_00n }))
    .then([completed('withdrawal')], 'an amount at the threshold needs no approval')
  given(...history)
    .when(approve(bob, { approvalAboveMinor: 100_00n }))
    .then('conflict', 'an amount at the threshold cannot be approved')
  given(...history)
    .when(approve(bob, { approvalAboveMinor: null }))
    .then('conflict', 'the merchant has no threshold')
  t.equal(
    ruleOf({ ...complete, ...above }, withdrawalCreated),
    'approval-needed',
    'the command line needs an approval too',
  )
  given(withdrawalCreated, approved(bob))
    .when({ ...complete, ...above })
    .then([completed('withdrawal')])
  given(...history)
    .when(settle('Cancel', ada))
    .then([cancelled('withdrawal')], 'a cancellation needs no approval')
})

t.test('a claimant cannot approve a withdrawal, and its approver can neither claim nor complete it', async (t) => {
  const above = { approvalAboveMinor: 50_00n }
  t.equal(ruleOf(approve(ada), withdrawalCreated, claimed(ada)), 'four-eyes')
  t.equal(ruleOf(approve(ada), withdrawalCreated, claimed(ada), released(ada), claimed(bob)), 'four-eyes')
  t.equal(ruleOf(claim(bob), withdrawalCreated, approved(bob)), 'four-eyes')
  t.equal(ruleOf({ ...complete, ...above, by: bob }, withdrawalCreated, approved(bob)), 'four-eyes')
})

t.test('an approval covers one amount and one account', async (t) => {
  const above = { approvalAboveMinor: 50_00n }
  const history = [withdrawalCreated, claimed(ada), approved(bob)]
  const less = { ...above, transactionAmountMinor: 95_00n }
  t.equal(ruleOf(pay(ada, less), ...history), 'approval-needed', 'a different amount')
  given(...history)
    .when(approve(bob, { amountMinor: 95_00n }))
    .then([approved(bob, { approvedAmountMinor: 95_00n })])
  given(...history, approved(bob, { approvedAmountMinor: 95_00n }))
    .when(pay(ada, less))
    .then([completed('withdrawal', { transactionAmountMinor: 95_00n, hasAmountMismatch: true })])
  t.equal(
    ruleOf(pay(ada, above), withdrawalCreated, claimed(ada), approved(bob, { accountNumber: 'TR0' })),
    'approval-needed',
    'a different account',
  )
  const more = { approvalAboveMinor: 100_00n, transactionAmountMinor: 101_00n, confirmedAmountMinor: 101_00n }
  t.equal(
    ruleOf(pay(ada, more), withdrawalCreated, claimed(ada)),
    'approval-needed',
    'the threshold applies to the paid amount',
  )
})

t.test('a reason for another bank file covers only the files that its user has seen', async () => {
  const by = { by: ada, underClaim: true, approvalAboveMinor: null, at: later } as const
  const add = (file: string, repeat: RepeatedPayout | null = null) =>
    ({
      type: 'AddToBankFile',
      ...by,
      messageId: file,
      format: 'csv',
      sha256: 'ab',
      payingAccountId: null,
      repeat,
    }) as const
  const added = (file: string, reason: string | null): TransferEvent => ({
    type: 'WithdrawalAddedToBankFile',
    data: {
      ...common('withdrawal'),
      by: ada,
      messageId: file,
      format: 'csv',
      sha256: 'ab',
      reason,
      payingAccountId: null,
    },
  })
  const history = [withdrawalCreated, claimed(ada), added('one', null)]
  const repeat = { reason: 'lost', files: ['one'] }
  given(...history)
    .when(add('two', repeat))
    .then([added('two', 'lost')])
  t.equal(ruleOf(add('three', repeat), ...history, added('two', 'lost')), 'in-bank-file')
})

const people = fc.constantFrom(ada!, bob!, cem!, 'cli:root')
const step = fc.record({
  by: people,
  minutes: fc.nat(9),
  amountMinor: fc.constantFrom(95_00n, 100_00n, 101_00n),
  approvalAboveMinor: fc.constantFrom(50_00n, 100_00n, null),
  type: fc.constantFrom(
    ...(['Claim', 'Claim', 'Release', 'Approve', 'Approve', 'Complete', 'Cancel', 'SendToManualControl'] as const),
    ...(['AddToBankFile'] as const),
  ),
})

function commandOf(
  { by, amountMinor, approvalAboveMinor, type }: typeof step extends fc.Arbitrary<infer S> ? S : never,
  at: string,
): TransferCommand {
  const underClaim = !by.startsWith('cli:')
  switch (type) {
    case 'Claim':
      return { type, by, at }
    case 'Release':
      return { type, by, underClaim, at }
    case 'AddToBankFile': {
      const file = {
        messageId: `file-${at}`,
        format: 'csv',
        sha256: 'ab',
        payingAccountId: null,
        repeat: null,
      } as const
      return { type, by, underClaim, ...file, approvalAboveMinor, at }
    }
    case 'Approve':
      return { type, by, amountMinor, approvalAboveMinor, at }
    case 'Complete': {
      const amounts = { transactionAmountMinor: amountMinor, confirmedAmountMinor: amountMinor }
      return { ...complete, ...amounts, approvalAboveMinor, by, underClaim, at }
    }
    default:
      return { type, message: null, by, underClaim, at }
  }
}

function claimantsIn(history: readonly TransferEvent[]): string[] {
  return history.flatMap((one) =>
    one.type === 'WithdrawalClaimed' || one.type === 'WithdrawalAddedToBankFile' ? [one.data.by] : [],
  )
}

t.test('in any sequence, never allows two claims, or a payment above the threshold by one person alone', async (t) => {
  const seen = { completed: 0, approved: 0, claimed: 0, refusedForClaim: 0, refusedForApproval: 0 }
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      let state: TransferState = fold([withdrawalCreated])
      let at = later
      const history: TransferEvent[] = []
      for (const each of steps) {
        at = addMs(at, each.minutes * minuteMs)
        const before = state as Withdrawal
        const decision = transferDecider.decide(commandOf(each, at), before)
        if (!decision.accepted) {
          if (decision.refusal.rule === 'claimed-by-another') seen.refusedForClaim++
          if (decision.refusal.rule === 'approval-needed') seen.refusedForApproval++
          continue
        }
        const active = activeClaim(before, at)
        for (const event of decision.events) {
          if (event.type === 'WithdrawalClaimed') {
            ok(!active || active.by === each.by, 'two simultaneous claims')
            seen.claimed++
          }
          if (event.type === 'WithdrawalAddedToBankFile') {
            ok(!history.some(({ type }) => type === event.type), 'in two files without a reason')
            ok(!active || active.by === each.by, 'put into a file under the claim of another user')
          }
          if (event.type === 'WithdrawalApproved') {
            ok(!claimantsIn(history).includes(each.by), 'approved by a claimant')
            seen.approved++
          }
          if (event.type === 'TransferCompleted') {
            const { transactionAmountMinor: paid } = event.data
            ok(!active || active.by === each.by, 'paid under the claim of another user')
            ok(each.by.startsWith('cli:') || active?.by === each.by, 'paid without a claim')
            const threshold = each.approvalAboveMinor
            if (threshold !== null && (paid > threshold || 100_00n > threshold)) {
              const approvals = history.flatMap((one) => (one.type === 'WithdrawalApproved' ? [one.data] : []))
              const last = approvals.at(-1)
              equal(last?.approvedAmountMinor, paid, 'paid without an approval')
              ok(last.by !== each.by, 'paid by the approver')
              ok(!claimantsIn(history).includes(last.by), 'approved by a claimant before the payment')
            }
            seen.completed++
          }
          history.push(event)
          state = transferDecider.evolve(state, event)
        }
        const repeat = transferDecider.decide(commandOf(each, at), state)
        if (repeat.accepted) deepStrictEqual(repeat.events, [], 'a repeat changes nothing')
      }
      ok(history.filter(({ type }) => type === 'TransferCompleted').length <= 1)
    }),
    { numRuns: 1_500 },
  )
  for (const [name, count] of Object.entries(seen)) t.ok(count > 20, `${name} ${count} times`)
})
