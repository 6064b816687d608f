import t from 'tap'
import { needsAttention, type Transfer } from '../../src/domain/transfer/transfer.js'
import type { MatchBankPayment, TransferCommand } from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { specification } from '../support/given-when-then.js'
import { cancelled, common, completed, created, later } from './transfer-samples.js'

const { given, fold } = specification(transferDecider)
const ada = 'user:ada'
const grace = 'user:grace'
const requested = created.withdrawal.data.amountMinor

const match = (matched: MatchBankPayment['matched'], changes: Partial<MatchBankPayment> = {}): MatchBankPayment => ({
  ...{
    type: 'MatchBankPayment',
    matched,
    bankPaymentId: 'entry-1',
    matchedAmountMinor: requested,
    bookedOn: '2026-03-01',
  },
  ...{ bankReference: 'B1', bankReasonCode: null, bankReasonText: null, callbackOnMoney: false, isManual: true },
  ...{
    manualControlAboveMinor: null,
    approvalAboveMinor: null,
    mismatchPolicy: { toleranceMinor: 0n, autoCancel: false },
  },
  ...{ by: ada, underClaim: false, at: later },
  ...changes,
})
const matchedEvent = (kind: 'deposit' | 'withdrawal', effect: string, changes: object = {}) =>
  ({
    type: 'BankPaymentMatched',
    data: {
      ...common(kind),
      ...{
        by: ada,
        bankPaymentId: 'entry-1',
        effect,
        reference: null,
        matchedAmountMinor: requested,
        bookedOn: '2026-03-01',
      },
      ...{ bankReference: 'B1', bankReasonCode: null, bankReasonText: null },
      ...changes,
    },
  }) as TransferEvent
const inFile = (by = grace): TransferEvent => ({
  type: 'WithdrawalAddedToBankFile',
  data: {
    ...common('withdrawal'),
    by,
    messageId: 'f1',
    format: 'csv',
    sha256: 'ab',
    reason: null,
    payingAccountId: null,
  },
})
const claimed: TransferEvent = {
  type: 'WithdrawalClaimed',
  data: { ...common('withdrawal'), by: grace, until: '2026-03-01T11:00:00.000Z' },
}
const received = (reference: string, amountMinor: bigint): TransferEvent => ({
  type: 'FundsReceived',
  data: {
    ...common('deposit'),
    ...{ receivedAmountMinor: amountMinor, receiptUrl: null, hasAmountMismatch: true, reference },
    openUntil: '2026-03-15T10:05:00.000Z',
  },
})
const eventsOf = (command: TransferCommand, ...history: readonly TransferEvent[]) => {
  const decision = transferDecider.decide(command, fold(history))
  return decision.accepted ? decision.events : decision.refusal.rule
}
const typesOf = (...args: Parameters<typeof eventsOf>) => {
  const events = eventsOf(...args)
  return typeof events === 'string' ? events : events.map(({ type }) => type)
}

t.test('a debit completes the withdrawal with the amount that the bank paid, and names the payment', async (t) => {
  const [paid, matched] = eventsOf(match('debit'), created.withdrawal, inFile()) as TransferEvent[]
  t.match(paid, { type: 'TransferCompleted', data: { transactionAmountMinor: requested } })
  t.strictSame(matched, matchedEvent('withdrawal', 'completed'))
})

t.test('the claim of another user holds a withdrawal only if it is in no bank file', async (t) => {
  t.equal(typesOf(match('debit'), created.withdrawal, claimed), 'claimed-by-another')
  t.strictSame(typesOf(match('debit'), created.withdrawal, claimed, inFile()), [
    'TransferCompleted',
    'BankPaymentMatched',
  ])
})

t.test('the threshold, the limits and a stop of payouts apply as to any completion', async (t) => {
  const history = [created.withdrawal, inFile()]
  t.equal(typesOf(match('debit', { approvalAboveMinor: 1n }), ...history), 'approval-needed')
  const exceeded = [
    { per: 'account', hours: 24, count: 1, amountMinor: null, actualCount: 2, actualMinor: 1n },
  ] as const
  t.equal(typesOf(match('debit', { exceeded }), ...history), 'limit-exceeded')
  t.equal(typesOf(match('debit', { payoutsStopped: true }), ...history), 'payouts-stopped')
})

t.test('a completed withdrawal is confirmed with the same amount only, and paid by one payment', async (t) => {
  const paid = [created.withdrawal, completed('withdrawal', { transactionAmountMinor: requested })]
  given(...paid)
    .when(match('debit'))
    .then([matchedEvent('withdrawal', 'confirmed')])
  t.equal(typesOf(match('debit', { matchedAmountMinor: requested + 1n }), ...paid), 'booking-final')
  const confirmed = [...paid, matchedEvent('withdrawal', 'confirmed')]
  t.strictSame(typesOf(match('debit'), ...confirmed), [], 'a repeat changes nothing')
  t.equal(typesOf(match('debit', { bankPaymentId: 'entry-2' }), ...confirmed), 'paid-before')
  t.equal(typesOf(match('debit'), created.withdrawal, cancelled('withdrawal')), 'status-final')
})

t.test('a rejection needs attention until someone has decided, and moves no money', async (t) => {
  const reject = match('rejection', {
    matchedAmountMinor: 0n,
    bookedOn: null,
    bankReference: null,
    bankReasonCode: 'AC01',
  })
  t.equal(typesOf(reject, created.withdrawal), 'not-in-bank-file')
  const history = [created.withdrawal, inFile()]
  const [event] = eventsOf(reject, ...history) as TransferEvent[]
  const rejected = [...history, event!]
  t.match(fold(rejected), { status: 'Pending', rejection: { reasonCode: 'AC01' } })
  t.ok(needsAttention(fold(rejected) as Transfer))
  t.strictSame(typesOf(reject, ...rejected), [])
  const by = { by: grace, underClaim: false, at: later }
  const approvalAboveMinor = null
  const decisions: TransferCommand[] = [
    { type: 'Release', ...by },
    { type: 'Cancel', message: null, ...by },
    { type: 'Fail', message: null, ...by },
    { type: 'ResolveAttention', reason: 'paid by hand', at: later },
    {
      ...{ type: 'AddToBankFile', ...by, messageId: 'f2', format: 'csv', sha256: 'cd', payingAccountId: null },
      ...{ repeat: { reason: 'rejected', files: ['f1'] }, approvalAboveMinor },
    },
  ]
  for (const decision of decisions) {
    const events = eventsOf(decision, ...rejected)
    if (typeof events === 'string') throw new Error(`${decision.type}: ${events}`)
    t.notOk(needsAttention(fold([...rejected, ...events]) as Transfer), decision.type)
  }
})

t.test('credits add up on a deposit, and what a user recorded is only confirmed', async (t) => {
  const half = requested / 2n
  const part = match('credit', { matchedAmountMinor: half })
  t.strictSame(typesOf(part, created.deposit), ['FundsReceived', 'BankPaymentMatched'])
  const known = [created.deposit, received('B1', half)]
  t.match(eventsOf(part, ...known), [{ type: 'BankPaymentMatched', data: { effect: 'confirmed', reference: 'B1' } }])
  const [confirmed] = eventsOf(part, ...known) as TransferEvent[]
  const other = match('credit', { matchedAmountMinor: half, bankPaymentId: 'entry-2' })
  const again = eventsOf(other, ...known, confirmed!) as TransferEvent[]
  t.match(again[0], { type: 'FundsReceived', data: { reference: 'entry-2' } }, 'a bank can use a reference twice')
  t.equal(typesOf(match('credit', { isManual: false }), created.deposit), 'manual-payment-required')
})

t.test(
  'a deposit that a user completed without a payment is confirmed by the first credit of that amount',
  async (t) => {
    const done = [
      created.deposit,
      completed('deposit', { transactionAmountMinor: requested, receivedAmountMinor: requested }),
    ]
    const [confirmed] = eventsOf(match('credit'), ...done) as TransferEvent[]
    t.match(confirmed, { type: 'BankPaymentMatched', data: { effect: 'confirmed' } })
    const second = match('credit', { bankPaymentId: 'entry-2', bankReference: 'B2' })
    t.strictSame(
      typesOf(second, ...done, confirmed!),
      ['LateFundsReceived', 'BankPaymentMatched'],
      'a second one is other money',
    )
  },
)

t.test('a return is recorded with its reason, and once', async (t) => {
  const paid = [created.withdrawal, completed('withdrawal', { transactionAmountMinor: requested })]
  const back = match('return', { bankReasonCode: 'AC04' })
  const events = eventsOf(back, ...paid) as TransferEvent[]
  t.match(events, [
    { type: 'WithdrawalReturned', data: { reasonCode: 'AC04', reference: 'B1' } },
    { data: { effect: 'returned' } },
  ])
  t.strictSame(typesOf(back, ...paid, ...events), [])
  t.match(eventsOf(match('return', { bankReasonCode: 'XX99' }), ...paid), [{ data: { reasonCode: 'NARR' } }, {}])
  t.equal(
    typesOf(match('return', { bankPaymentId: 'entry-2', bankReference: 'B2' }), ...paid, ...events),
    'payout-return-too-large',
  )
  t.equal(typesOf(back, created.withdrawal), 'payout-not-completed')
})

t.test('the kinds of transfers and of payments must fit', async (t) => {
  t.equal(typesOf(match('credit'), created.withdrawal), 'deposit-required')
  for (const matched of ['debit', 'return', 'rejection'] as const)
    t.equal(typesOf(match(matched), created.deposit), 'withdrawal-required')
})
