import type { DepositRequest, WithdrawalRequest } from '../../src/commands/transfer/transfer-requests.js'
import { metadataLimits } from '../../src/domain/transfer/requested-fields.js'
import type { Status } from '../../src/domain/transfer/status.js'
import type { Complete, CreateDeposit, CreateWithdrawal } from '../../src/domain/transfer/transfer-commands.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { merchantId } from './merchant-samples.js'

/**
 * The sample transfers of all tests and benchmarks. A test copies a sample and overrides only the fields that it is about:
 * `{ ...depositRequest, merchantId }`, `{ ...depositCreated, data: { ...depositCreated.data, userId } }`. A new field of a creation is
 * added to `creation`, which all samples contain.
 */

export const createdAt = '2026-03-01T10:00:00.000Z'
export const later = '2026-03-01T10:05:00.000Z'

const creation = {
  merchantId,
  referenceId: 'order-1001',
  amountMinor: 10_000n,
  userId: 'u-17',
  name: 'Ayşe Yılmaz',
  username: 'ayse',
  paymentMethod: 1,
  metadata: null,
  callbackOnCreate: false,
}
/** Metadata whose keys and values look like fields, names, times and markup of other kinds. */
export const misleadingMetadata = {
  ...{ xMinor: '500', amountMinor: '123456', waitMs: '90000', paymentMethod: '1', status: '2', constructor: 'x' },
  ...{ actor: 'user:5f1c2a7e-90f1-4a53-8f0e-3a1f6f6f0b11', at: '2026-03-01T10:00:00.250Z', by: 'customer', note: '' },
  ...{ '<b>key</b>': '<img src=x>', שלום: 'a; Reason: “b”', '🎉': 'c  d', [`${'k'.repeat(40)}`]: 'v'.repeat(200) },
}
const account = { accountNumber: 'TR330006100519786457841326', identityNumber: null }

/** The largest metadata, with different texts for each `n`: 4,800 characters of two UTF-16 units. */
export function largestMetadata(n: number): { readonly [key: string]: string } {
  const { keys, keyLength, valueLength } = metadataLimits
  const text = (start: string, length: number) => start + '😀'.repeat(length - start.length)
  return Object.fromEntries(
    Array.from({ length: keys }, (_, key) => [text(`${key}`, keyLength), text(`${n}-${key}`, valueLength)]),
  )
}

/** A create as a merchant requests it, before it has an id and a time. */
export const depositRequest: DepositRequest = { ...creation, channel: 'hosted', expiryMinutes: 30 }
export const withdrawalRequest: WithdrawalRequest = { ...creation, ...account }

const identity = { trackingId: '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10', at: createdAt }

export const createDeposit: CreateDeposit = {
  type: 'CreateDeposit',
  ...identity,
  ...creation,
  channel: 'hosted',
  expiresAt: '2026-03-01T10:30:00.000Z',
}
export const createWithdrawal: CreateWithdrawal = {
  type: 'CreateWithdrawal',
  ...identity,
  ...creation,
  ...account,
}

const { type: _deposit, ...deposit } = createDeposit
const { type: _withdrawal, ...withdrawal } = createWithdrawal
type Created<Type> = Extract<TransferEvent, { type: Type }>
export const depositCreated: Created<'DepositCreated'> = {
  type: 'DepositCreated',
  data: { ...deposit, kind: 'deposit', hashId: null },
}
export const withdrawalCreated: Created<'WithdrawalCreated'> = {
  type: 'WithdrawalCreated',
  data: { ...withdrawal, kind: 'withdrawal', hashId: null, refundOf: null, repaymentOf: null },
}

export type Kind = 'deposit' | 'withdrawal'
export const created = { deposit: depositCreated, withdrawal: withdrawalCreated }
export const create = { deposit: createDeposit, withdrawal: createWithdrawal }

export function common(kind: Kind, at = later) {
  const { trackingId, merchantId, referenceId, amountMinor } = createDeposit
  return { trackingId, merchantId, kind, referenceId, amountMinor, at }
}

/** The money of the changes arrived with the event, unless they state what did. */
interface Changes {
  readonly transactionAmountMinor?: bigint
  readonly receivedAmountMinor?: bigint
  readonly [field: string]: unknown
}

export function completed(kind: Kind, changes: Changes = {}): TransferEvent {
  const { transactionAmountMinor = 10_000n } = changes
  const outcome = {
    transactionAmountMinor,
    receivedAmountMinor: kind === 'deposit' ? transactionAmountMinor : 0n,
    hasAmountMismatch: false,
    receiptUrl: null,
    message: null,
    reason: null,
  }
  return { type: 'TransferCompleted', data: { ...common(kind), ...outcome, ...changes } }
}

export function cancelled(kind: Kind, changes: Changes = {}): TransferEvent {
  const { transactionAmountMinor = 0n } = changes
  const money = {
    transactionAmountMinor,
    receivedAmountMinor: transactionAmountMinor,
    hasAmountMismatch: false,
    receiptUrl: null,
    autoCancelledAmountMinor: null,
  }
  const data = { ...common(kind), message: null, reason: 'requested' as const, ...money, ...changes }
  return { type: 'TransferCancelled', data }
}

/** The events that lead to each status after the creation. */
export function eventsTo(kind: Kind): { readonly [status in Status]: readonly TransferEvent[] } {
  return {
    Pending: [],
    ManualControl: [{ type: 'TransferSentToManualControl', data: { ...common(kind), message: null } }],
    Completed: [completed(kind)],
    Cancelled: [cancelled(kind)],
    Failed: [{ type: 'TransferFailed', data: { ...common(kind), message: null } }],
  }
}

/** An actor on the command line, who needs no claim. */
export const operator = { by: 'cli:ada', underClaim: false }

export const complete: Complete = {
  type: 'Complete',
  guardFactor: 1_000_000,
  receiptUrl: null,
  message: null,
  reason: null,
  mismatchPolicy: { toleranceMinor: 0n, autoCancel: false },
  approvalAboveMinor: null,
  ...operator,
  at: later,
}
