import t from 'tap'
import { isTerminal, type Status, statusCodes } from '../../src/domain/transfer/status.js'
import {
  type Deposit,
  evolve,
  hasExpired,
  initialState,
  noFunds,
  noPayout,
  type TransferState,
  unsettledMinor,
} from '../../src/domain/transfer/transfer.js'
import type { Complete, ReceiveFunds, TransferCommand } from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { specification } from '../support/given-when-then.js'
import {
  cancelled,
  common,
  complete,
  completed,
  create,
  createDeposit,
  created,
  createdAt,
  createWithdrawal,
  depositCreated,
  eventsTo,
  type Kind,
  later,
  operator,
  withdrawalCreated,
} from './transfer-samples.js'

const { given, fold } = specification(transferDecider)
const kinds = ['deposit', 'withdrawal'] as const
const statuses = Object.keys(statusCodes) as Status[]

t.test('has the status codes of the specification', async (t) => {
  t.strictSame(statusCodes, { Pending: 1, Completed: 2, ManualControl: 3, Cancelled: 4, Failed: 5 })
})

t.test('the first create records the request unchanged', async () => {
  given().when(createDeposit).then([depositCreated])
  given().when(createWithdrawal).then([withdrawalCreated])
})

t.test('a new transfer is Pending and has no transferred amount', async (t) => {
  for (const kind of kinds) {
    const { at: _, callbackOnCreate: _callbackOnCreate, hashId: _hashId, ...data } = created[kind].data
    const untouched = {
      funds: noFunds,
      refunds: [],
      autoCancelledAmountMinor: null,
      cancelReason: null,
      reopened: false,
    }
    const firstExpiresAt = createDeposit.expiresAt
    t.strictSame(fold([created[kind]]), {
      ...data,
      ...(kind === 'deposit'
        ? { ...untouched, firstExpiresAt }
        : { payout: noPayout, returns: [], repayments: [], resolvedMinor: 0n, rejection: null }),
      status: 'Pending',
      transactionAmountMinor: 0n,
      hasAmountMismatch: false,
      receiptUrl: null,
      message: null,
      createdAt,
      updatedAt: createdAt,
      completedAt: null,
      corrections: [],
      proposals: 0,
      proposedCorrection: null,
      bankPayments: [],
    })
  }
})

t.test('rejects every other command for a nonexistent transfer as not found', async () => {
  for (const [name, command] of Object.entries(changes)) given().when(command).then('not-found', name)
})

t.test('a repeated create changes nothing, regardless of the status', async () => {
  for (const kind of kinds) {
    for (const status of statuses) {
      given(created[kind], ...eventsTo(kind)[status])
        .when({ ...create[kind], at: later })
        .then([], `${kind} ${status}`)
    }
  }
})

t.test(
  'a repeated deposit request can have a different expiry, because it depends on the time of the request',
  async () => {
    given(depositCreated)
      .when({ ...createDeposit, at: later, expiresAt: '2026-03-01T10:35:00.000Z' })
      .then([])
  },
)

t.test('a repeated create with different content is a conflict, for every field', async () => {
  const others = {
    merchantId: '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a12',
    referenceId: 'order-1002',
    amountMinor: 10_001n,
    userId: 'u-18',
    name: 'Ayse Yilmaz',
    username: 'Ayse',
    paymentMethod: 2,
  }
  for (const [field, value] of Object.entries(others)) {
    for (const kind of kinds) {
      given(created[kind])
        .when({ ...create[kind], [field]: value } as TransferCommand)
        .then('conflict', `${kind} ${field}`)
    }
  }
  given(depositCreated)
    .when({ ...createDeposit, channel: 'native' })
    .then('conflict', 'channel')
  given(withdrawalCreated)
    .when({ ...createWithdrawal, accountNumber: 'TR330006100519786457841327' })
    .then('conflict', 'accountNumber')
  given(withdrawalCreated)
    .when({ ...createWithdrawal, identityNumber: '10000000146' })
    .then('conflict', 'identityNumber added')
  given({ ...withdrawalCreated, data: { ...withdrawalCreated.data, identityNumber: '10000000146' } })
    .when(createWithdrawal)
    .then('conflict', 'identityNumber omitted')
})

t.test('a deposit is never a repeat of a withdrawal with the same fields', async () => {
  given(depositCreated).when(createWithdrawal).then('conflict')
  given(withdrawalCreated).when(createDeposit).then('conflict')
})

const changes = {
  Complete: complete,
  SendToManualControl: { type: 'SendToManualControl', message: null, ...operator, at: later },
  Cancel: { type: 'Cancel', message: null, ...operator, at: later },
  Fail: { type: 'Fail', message: null, ...operator, at: later },
  Expire: { type: 'Expire', at: later },
} as const satisfies { readonly [type: string]: TransferCommand }

const targetOf = { Complete: 'Completed', SendToManualControl: 'ManualControl', Cancel: 'Cancelled', Fail: 'Failed' }
const legal: { readonly [status in Status]: readonly string[] } = {
  Pending: ['Completed', 'ManualControl', 'Cancelled', 'Failed'],
  ManualControl: ['Completed', 'Cancelled', 'Failed'],
  Completed: [],
  Cancelled: [],
  Failed: [],
}

for (const kind of kinds) {
  for (const status of statuses) {
    t.test(`allows, ignores or rejects every change of a ${kind} that is ${status}`, async () => {
      const history = [created[kind], ...eventsTo(kind)[status]]
      for (const [command, target] of Object.entries(targetOf)) {
        const expected = legal[status].includes(target)
          ? eventsTo(kind)[target as Status]
          : target === status
            ? []
            : 'conflict'
        given(...history)
          .when(changes[command as keyof typeof targetOf])
          .then(expected, `${command} from ${status}`)
      }
    })
  }
}

t.test('each event leads to its status, with its message and time', async (t) => {
  for (const kind of kinds) {
    for (const status of statuses) {
      const state = fold([created[kind], ...eventsTo(kind)[status]])
      const updatedAt = status === 'Pending' ? createdAt : later
      t.match(state, { kind, status, updatedAt, createdAt })
    }
    for (const type of ['Cancel', 'Fail', 'SendToManualControl'] as const) {
      const decision = transferDecider.decide(
        { type, message: 'by phone', ...operator, at: later },
        fold([created[kind]]),
      )
      if (!decision.accepted) throw new Error('the command was rejected')
      t.match(fold([created[kind], ...decision.events]), { message: 'by phone', updatedAt: later })
    }
  }
  t.strictSame(statuses.filter(isTerminal), ['Completed', 'Cancelled', 'Failed'])
})

t.test('a completion has an amount, a receipt and a message', async () => {
  given(withdrawalCreated)
    .when({ ...complete, transactionAmountMinor: 10_000n, receiptUrl: 'https://bank.example/r/1', message: 'paid' })
    .then([completed('withdrawal', { receiptUrl: 'https://bank.example/r/1', message: 'paid' })])
})

const policy = (toleranceMinor: bigint, autoCancel = false) => ({ mismatchPolicy: { toleranceMinor, autoCancel } })
const completing = (transactionAmountMinor: bigint, toleranceMinor: bigint, autoCancel = false): Complete => ({
  ...complete,
  transactionAmountMinor,
  confirmedAmountMinor: transactionAmountMinor,
  ...policy(toleranceMinor, autoCancel),
})

t.test('a difference of one hundredth above the tolerance is a mismatch', async () => {
  const cases = [
    [10_000n, 0n, false],
    [9_999n, 0n, true],
    [10_001n, 0n, true],
    [9_950n, 50n, false],
    [10_050n, 50n, false],
    [9_949n, 50n, true],
    [10_051n, 50n, true],
    [1n, 0n, true],
    [999_999_999n, 0n, true],
  ] as const
  for (const kind of kinds) {
    for (const [transactionAmountMinor, toleranceMinor, hasAmountMismatch] of cases) {
      given(created[kind])
        .when(completing(transactionAmountMinor, toleranceMinor))
        .then([completed(kind, { transactionAmountMinor, hasAmountMismatch })], `${kind} ${transactionAmountMinor}`)
    }
  }
})

t.test('cancels only deposits beyond the tolerance automatically, and records the received money', async () => {
  const underpaid = { transactionAmountMinor: 9_949n, hasAmountMismatch: true }
  const outcome = { ...underpaid, autoCancelledAmountMinor: 9_949n }
  given(depositCreated)
    .when(completing(9_949n, 50n, true))
    .then([cancelled('deposit', { ...outcome, message: 'amount mismatch', reason: 'amount-mismatch' })])
  given(depositCreated)
    .when({ ...completing(9_949n, 50n, true), message: 'short by 0.51' })
    .then([cancelled('deposit', { ...outcome, message: 'short by 0.51', reason: 'amount-mismatch' })])
  given(depositCreated, ...eventsTo('deposit').ManualControl)
    .when(completing(9_949n, 50n, true))
    .then([cancelled('deposit', { ...outcome, message: 'amount mismatch', reason: 'amount-mismatch' })])
  given(depositCreated)
    .when(completing(9_950n, 50n, true))
    .then([completed('deposit', { transactionAmountMinor: 9_950n })])
  given(withdrawalCreated)
    .when(completing(9_949n, 50n, true))
    .then([completed('withdrawal', underpaid)])
})

t.test('a repeated completion has the result of the first one, regardless of later settings', async () => {
  const underpaid = completed('deposit', { transactionAmountMinor: 9_500n, hasAmountMismatch: true })
  given(depositCreated, underpaid)
    .when(completing(9_500n, 0n, false))
    .then([])
  given(depositCreated, underpaid)
    .when(completing(9_500n, 0n, true))
    .then([], 'automatic cancellation was enabled since')
  given(depositCreated, underpaid)
    .when(completing(9_500n, 500n, false))
    .then([], 'the tolerance was raised since')
  const mismatch = { transactionAmountMinor: 9_500n, hasAmountMismatch: true }
  const refunded = cancelled('deposit', { ...mismatch, autoCancelledAmountMinor: 9_500n })
  given(depositCreated, refunded)
    .when(completing(9_500n, 0n, true))
    .then([])
  given(depositCreated, refunded)
    .when(completing(9_500n, 0n, false))
    .then([], 'automatic cancellation was disabled since')
  given(depositCreated, refunded)
    .when(completing(9_400n, 0n, true))
    .then('conflict', 'a different amount')
  given(depositCreated, refunded)
    .when(completing(10_000n, 0n, true))
    .then('conflict', 'the full amount')
  given(depositCreated, refunded).when(complete).then([], 'the received amount')
})

t.test('rejects a repeated completion with a different amount and does not book it', async () => {
  for (const kind of ['deposit', 'withdrawal'] as const) {
    const created = kind === 'deposit' ? depositCreated : withdrawalCreated
    const underpaid = completed(kind, { transactionAmountMinor: 9_500n, hasAmountMismatch: true })
    given(created, underpaid).when(complete).then([], 'the booked amount')
    for (const other of [9_000n, 10_000n, 9_501n]) {
      given(created, underpaid)
        .when(completing(other, 1_000n, false))
        .then('conflict', `${other} for a ${kind}`)
    }
  }
})

t.test('rejects a mismatching completion of a deposit that was cancelled manually or expired', async () => {
  for (const reason of ['requested', 'expired']) {
    given(depositCreated, cancelled('deposit', { message: reason, reason }))
      .when(completing(9_500n, 0n, true))
      .then('conflict', `cancelled: ${reason}`)
  }
  given(depositCreated, ...eventsTo('deposit').Failed)
    .when(completing(9_500n, 0n, true))
    .then('conflict')
})

t.test('a deposit expires exactly at its expiry time, not a millisecond earlier', async () => {
  const expire = (at: string) => ({ type: 'Expire', at }) as const
  const expired = (at: string) => [cancelled('deposit', { message: 'expired', reason: 'expired', at })]
  given(depositCreated).when(expire('2026-03-01T10:29:59.999Z')).then([])
  given(depositCreated).when(expire('2026-03-01T10:30:00.000Z')).then(expired('2026-03-01T10:30:00.000Z'))
  given(depositCreated).when(expire('2026-03-09T00:00:00.000Z')).then(expired('2026-03-09T00:00:00.000Z'))
})

t.test('the reason of the cancellation, not its message, decides whether a deposit expired', async (t) => {
  const state = (event: TransferEvent) => [depositCreated, event].reduce<TransferState>(evolve, initialState) as Deposit
  const later = '2026-03-01T10:31:00.000Z'
  t.ok(hasExpired(state(cancelled('deposit', { message: 'expired', reason: 'expired' })), later))
  t.notOk(hasExpired(state(cancelled('deposit', { message: 'expired', reason: 'requested' })), later))
  t.notOk(hasExpired(state(cancelled('deposit', { reason: 'amount-mismatch' })), later))
})

t.test('expiry changes only Pending deposits, and is never rejected', async () => {
  const expire = { type: 'Expire', at: '2026-03-02T00:00:00.000Z' } as const
  for (const status of statuses.filter((status) => status !== 'Pending')) {
    given(depositCreated, ...eventsTo('deposit')[status])
      .when(expire)
      .then([], status)
  }
  for (const status of statuses) {
    given(withdrawalCreated, ...eventsTo('withdrawal')[status])
      .when(expire)
      .then([], status)
  }
})

t.test('money that arrives after the expiry time still completes the deposit if no expiry was recorded', async () => {
  given(depositCreated)
    .when({ ...complete, at: '2026-03-01T11:00:00.000Z' })
    .then([completed('deposit', { at: '2026-03-01T11:00:00.000Z' })])
})

const receive: ReceiveFunds = {
  type: 'ReceiveFunds',
  receivedAmountMinor: 10_000n,
  receiptUrl: null,
  mismatchPolicy: { toleranceMinor: 0n, autoCancel: false },
  manualControlAboveMinor: null,
  at: later,
}
const received = (receivedAmountMinor = 10_000n, hasAmountMismatch = false): TransferEvent => ({
  type: 'LateFundsReceived',
  data: { ...common('deposit'), receivedAmountMinor, receiptUrl: null, hasAmountMismatch, reference: null },
})
const reopen: TransferCommand = { type: 'Reopen', reason: 'the money arrived', at: later }
const reopened: TransferEvent = {
  type: 'TransferReopened',
  data: { ...common('deposit'), reason: 'the money arrived' },
}

t.test('received money completes a Pending deposit with the same mismatch rules as a completion', async () => {
  const amounts = [9_999n, 10_000n, 10_001n]
  const policies = [0n, 1n].flatMap((toleranceMinor) =>
    [true, false].map((autoCancel) => ({ toleranceMinor, autoCancel })),
  )
  for (const receivedAmountMinor of amounts) {
    for (const mismatchPolicy of policies) {
      const completion = { ...complete, transactionAmountMinor: receivedAmountMinor, mismatchPolicy }
      const expected = transferDecider.decide(completion, fold([depositCreated]))
      if (!expected.accepted) throw new Error('the command was rejected')
      given(depositCreated)
        .when({ ...receive, receivedAmountMinor, mismatchPolicy })
        .then(expected.events)
    }
  }
})

t.test('holds a deposit whose requested or received amount is above the threshold, and records the money', async () => {
  const held = (message: string): TransferEvent => ({
    type: 'TransferSentToManualControl',
    data: { ...common('deposit'), message },
  })
  given(depositCreated)
    .when({ ...receive, manualControlAboveMinor: 10_000n })
    .then([completed('deposit')])
  given(depositCreated)
    .when({ ...receive, manualControlAboveMinor: 9_999n })
    .then([received(), held('100.00 was received; amounts above 99.99 are checked')])
  given(depositCreated)
    .when({ ...receive, receivedAmountMinor: 5n, manualControlAboveMinor: 9_999n })
    .then([received(5n, true), held('0.05 was received; amounts above 99.99 are checked')])
  given(depositCreated)
    .when({ ...receive, receivedAmountMinor: 10_001n, manualControlAboveMinor: 10_000n })
    .then([received(10_001n, true), held('100.01 was received; amounts above 100.00 are checked')])
})

t.test('records money for any other deposit without changing its status', async (t) => {
  for (const status of ['ManualControl', 'Completed', 'Cancelled', 'Failed'] as const) {
    const history = [depositCreated, ...eventsTo('deposit')[status]]
    given(...history)
      .when(receive)
      .then([received()])
    const before = fold(history) as Deposit
    const after = fold([...history, received(), received(7n)]) as Deposit
    t.equal(after.status, status)
    t.equal(after.funds.receivedMinor - before.funds.receivedMinor, 10_007n)
    t.equal(unsettledMinor(after) - unsettledMinor(before), 10_007n)
  }
  given(withdrawalCreated).when(receive).then('conflict')
})

t.test('reopens only a cancelled or failed deposit, into ManualControl', async (t) => {
  for (const status of statuses) {
    const expected = status === 'Cancelled' || status === 'Failed' ? [reopened] : 'conflict'
    given(depositCreated, ...eventsTo('deposit')[status])
      .when(reopen)
      .then(expected, status)
    given(withdrawalCreated, ...eventsTo('withdrawal')[status])
      .when(reopen)
      .then('conflict')
  }
  const state = fold([depositCreated, cancelled('deposit'), received(9_000n), reopened])
  t.match(state, { status: 'ManualControl', message: 'the money arrived', transactionAmountMinor: 9_000n })
  given(depositCreated, cancelled('deposit'), reopened).when(reopen).then([], 'a repeat')
})

t.test('throws for a history that starts with a change', async (t) => {
  for (const kind of kinds as readonly Kind[]) {
    for (const event of Object.values(eventsTo(kind)).flat()) t.throws(() => fold([event]), /before it was created/)
  }
})
