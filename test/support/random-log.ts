import fc from 'fast-check'
import { uuidV5 } from '../../src/commands/ids.js'
import { type CallbackCommand, callbackDecider, type Delivery, type Lane } from '../../src/domain/callback.js'
import type { Decider } from '../../src/domain/decider.js'
import type { TransferState } from '../../src/domain/transfer/transfer.js'
import type { TransferCommand } from '../../src/domain/transfer/transfer-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import { type DomainEvent, encodeEvent } from '../../src/event-store/event-codec.js'
import type { RecordedEvent } from '../../src/event-store/event-store.js'
import { createDeposit, createWithdrawal } from '../domain/transfer-samples.js'

const namespace = '6f2d9ad8-6d3f-4a51-b0c1-0d5f3a1c9e10'
const merchants = [uuidV5('merchant 1', namespace), uuidV5('merchant 2', namespace)]
const metadata = { actor: 'test', $correlationId: 'c', $causationId: 'c' }

/** One step of a history: the transfer that it acts on, the action, and the minutes since the previous step. */
export interface Step {
  readonly transfer: number
  readonly what: number
  readonly minutes: number
  readonly amount: number
}

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    transfer: fc.nat(15),
    what: fc.nat(11),
    minutes: fc.nat(60),
    amount: fc.integer({ min: 100, max: 99_999_999 }),
  }),
  // fast-check prefers short arrays, which contain few events.
  { minLength: 1, maxLength: 150, size: 'max' },
)

/** Returns a realistic log: the steps that the deciders accept, with positions like those of an engine. */
export function logOf(history: readonly Step[]): RecordedEvent[] {
  const log: RecordedEvent[] = []
  const states = new Map<string, unknown>()
  const revisions = new Map<string, number>()
  let nowMs = Date.parse('2026-11-20T12:00:00.000Z')
  function execute<State, Command, Event extends DomainEvent>(
    decider: Decider<State, Command, Event>,
    stream: string,
    command: Command,
  ): void {
    let state = (states.get(stream) as State | undefined) ?? decider.initialState
    const decision = decider.decide(command, state)
    for (const event of decision.accepted ? decision.events : []) {
      state = decider.evolve(state, event)
      const revision = (revisions.get(stream) ?? -1) + 1
      revisions.set(stream, revision)
      const commit = BigInt(log.length * 7 + 1)
      const encoded = encodeEvent(event, metadata, uuidV5(`${stream}@${revision}`, namespace))
      log.push({ ...encoded, stream, revision, position: { commit, prepare: commit }, recordedAtMs: nowMs })
    }
    states.set(stream, state)
  }
  for (const step of history) {
    nowMs += step.minutes * 60_000
    const trackingId = uuidV5(`transfer ${step.transfer}`, namespace)
    const at = new Date(nowMs).toISOString()
    const lane = states.get(`callback-${trackingId}`) as Lane | undefined
    const transfer = states.get(`transfer-${trackingId}`) as TransferState | undefined
    const delivery = lane?.deliveries[step.amount % Math.max(1, lane.deliveries.length)]
    if (step.what < 6) execute(transferDecider, `transfer-${trackingId}`, transferCommand(step, trackingId, at))
    else if (transfer && transfer.kind !== 'none') {
      const revision = revisions.get(`transfer-${trackingId}`)!
      const command = callbackCommand(step, transfer, revision, delivery, at)
      execute(callbackDecider, `callback-${trackingId}`, command)
    }
  }
  return log
}

/** Returns the longest of many logs, always the same for a seed. */
export function longLog(seed: number): RecordedEvent[] {
  const logs = fc.sample(steps, { numRuns: 200, seed }).map(logOf)
  return logs.reduce((longest, each) => (each.length > longest.length ? each : longest))
}

function transferCommand({ transfer, what, amount }: Step, trackingId: string, at: string): TransferCommand {
  const message = what % 2 === 0 ? null : 'a message'
  const request = { trackingId, merchantId: merchants[transfer % 2]!, referenceId: `r${transfer}`, at }
  const own = { ...request, callbackOnCreate: amount % 2 === 0, amountMinor: BigInt(amount) }
  const by = { by: `user:${amount % 7}`, underClaim: false }
  const mismatchPolicy = { toleranceMinor: 0n, autoCancel: amount % 2 === 0 }
  switch (what) {
    case 0:
    case 1:
      return transfer % 3 === 0
        ? { ...createWithdrawal, ...own, identityNumber: message }
        : { ...createDeposit, ...own, expiresAt: at }
    case 2:
      if (amount % 3 === 0) {
        const received = { receivedAmountMinor: BigInt(amount), receiptUrl: null, manualControlAboveMinor: 50_000_00n }
        return { type: 'ReceiveFunds', ...received, mismatchPolicy, at }
      }
      if (amount % 7 === 0) {
        const reference = `FT${amount % 5}`
        const part = { receivedAmountMinor: BigInt(amount % 5000) + 1n, reference, isManual: true, toleranceMinor: 10n }
        return { type: 'ReceivePart', ...part, receiptUrl: null, manualControlAboveMinor: null, guardFactor: 10, at }
      }
      return {
        type: 'Complete',
        transactionAmountMinor: BigInt(amount),
        confirmedAmountMinor: BigInt(amount),
        guardFactor: 10,
        receiptUrl: null,
        message,
        reason: 'checked with the bank',
        mismatchPolicy,
        approvalAboveMinor: amount % 5 === 0 ? 10_000_00n : null,
        ...by,
        at,
      }
    case 3:
      if (amount % 3 === 0) return { type: 'Reopen', reason: 'the money arrived', at }
      if (amount % 3 === 1) return { type: amount % 2 === 0 ? 'Claim' : 'Release', ...by, at }
      if (amount % 5 === 0) {
        const file = { messageId: `file-${amount}`, format: 'csv', sha256: 'ab', payingAccountId: null } as const
        const files = Array.from({ length: 200 }, (_, number) => `file-${number}`)
        const repeat = message === null ? null : { reason: message, files }
        return { type: 'AddToBankFile', ...by, ...file, repeat, approvalAboveMinor: null, at }
      }
      return { type: 'SendToManualControl', message, ...by, at }
    case 4:
      if (amount % 6 === 0) {
        const correctedMinor = BigInt(1 + (amount % 1000))
        const amounts = { amountMinor: correctedMinor, confirmedAmountMinor: correctedMinor, guardFactor: 10 }
        const rules = {
          toleranceMinor: 0n,
          collectedMinor: 0n,
          correctionDays: 400,
          approvalAboveMinor: amount % 5 === 0 ? 1_00n : null,
        }
        const correction = { by: by.by, reason: 'mistyped', reference: message && `CASE-${amount % 3}` }
        return { type: 'Correct', ...amounts, ...rules, ...correction, at }
      }
      if (amount % 5 === 0) {
        const money = { returnedAmountMinor: BigInt(1 + (amount % 400)), reasonCode: 'AC04', receiptUrl: null } as const
        const reference = `BACK-${amount % 9}`
        return { type: 'ReturnPayout', ...money, reference, callbackOnMoney: amount % 2 === 0, by: by.by, at }
      }
      if (amount % 7 === 0) {
        const matched = (['debit', 'credit', 'return', 'rejection'] as const)[amount % 4]!
        const bank = { bookedOn: '2026-11-20', bankReference: `FT-${amount % 5}`, bankReasonCode: 'AC04' }
        const money = { matchedAmountMinor: BigInt(1 + (amount % 400)), bankReasonText: message, ...bank }
        const rules = {
          isManual: true,
          manualControlAboveMinor: null,
          approvalAboveMinor: null,
          callbackOnMoney: false,
        }
        const mismatchPolicy = { toleranceMinor: 0n, autoCancel: false }
        return {
          type: 'MatchBankPayment',
          bankPaymentId: `e${amount}`,
          matched,
          ...money,
          ...rules,
          mismatchPolicy,
          ...by,
          at,
        }
      }
      if (amount % 4 === 0) return { type: 'ResolveAttention', reason: 'settled with the customer', at }
      if (amount % 4 === 1) {
        const receiptUrl = `https://bank.example/${amount}`
        const refundId = uuidV5(`return ${amount}`, namespace)
        const approvalAboveMinor = amount % 32 === 1 ? 10n : null
        const rules = { toleranceMinor: 0n, approvalAboveMinor, callbackOnMoney: false }
        return { type: 'ReturnFunds', amountMinor: 50n, receiptUrl, refundId, ...rules, by: by.by, at }
      }
      if (amount % 8 === 3) return refundCommand(amount, by.by, at)
      return { type: 'Cancel', message, ...by, at }
    default:
      if (amount % 2 === 0) return { type: 'Expire', at }
      if (amount % 3 === 0) return { type: 'Approve', by: by.by, approvalAboveMinor: 10_000_00n, at }
      return { type: 'Fail', message, ...by, at }
  }
}

function refundCommand(amount: number, by: string, at: string): TransferCommand {
  const refundId = uuidV5(`refund ${amount % 3}`, namespace)
  if (amount % 5 === 0) return { type: 'EndRefund', refundId, outcome: 'cancelled', by, at }
  if (amount % 5 < 3) return { type: 'CompleteRefund', refundId, toleranceMinor: 0n, callbackOnMoney: false, at }
  const account = { refundMethod: 2, accountNumber: 'TR33', identityNumber: null, paidFrom: null, walletRefunds: false }
  const refund = { referenceId: `refund ${amount % 3}`, amountMinor: BigInt(1 + (amount % 90)), to: 'account' as const }
  return { type: 'RequestRefund', refundId, ...refund, ...account, approvalAboveMinor: null, by, at }
}

function callbackCommand(
  { what, amount }: Step,
  transfer: TransferState & { kind: 'deposit' | 'withdrawal' },
  transferRevision: number,
  delivery: Delivery | undefined,
  at: string,
): CallbackCommand {
  const { trackingId, merchantId, referenceId, amountMinor } = transfer
  if (what < 8 || delivery === undefined) {
    const webhookId = uuidV5(`${trackingId} ${transferRevision}`, namespace)
    const result = { transactionAmountMinor: 0n, hasAmountMismatch: false, receiptUrl: null, message: null }
    const payload = { status: 1 + (amount % 5), referenceId, amountMinor, ...result }
    return { type: 'Record', webhookId, trackingId, merchantId, transferRevision, payload, at }
  }
  const { webhookId, attempts } = delivery
  const attempt = { type: 'ReportAttempt', webhookId, attempt: attempts + 1, durationMs: 5, at } as const
  switch (what) {
    case 8:
      return { ...attempt, httpStatus: 200, outcome: { result: 'delivered' } }
    case 9:
      return { ...attempt, httpStatus: null, outcome: { result: 'failed', reason: 'timeout', nextAttemptAt: at } }
    case 10:
      return { ...attempt, httpStatus: 500, outcome: { result: 'parked', reason: 'status 500' } }
    default:
      return { type: 'Requeue', which: amount % 2 === 0 ? 'parked' : { webhookId }, at }
  }
}
