import type { RecordedEvent } from '../../src/event-store/event-store.js'
import { must } from './violation.js'

// An account of the money and the statuses that is kept from the stored events alone. It shares no code with the domain.

type Status = 'Pending' | 'ManualControl' | 'Completed' | 'Cancelled' | 'Failed'
const statusCodes: { readonly [status in Status]: number } = {
  Pending: 1,
  Completed: 2,
  ManualControl: 3,
  Cancelled: 4,
  Failed: 5,
}

/** The status after an event, and the statuses in which it can occur; `undefined` before the creation. */
const transitions: {
  readonly [type: string]: { readonly from: readonly (Status | undefined)[]; readonly to: Status }
} = {
  DepositCreated: { from: [undefined], to: 'Pending' },
  WithdrawalCreated: { from: [undefined], to: 'Pending' },
  TransferSentToManualControl: { from: ['Pending'], to: 'ManualControl' },
  TransferCompleted: { from: ['Pending', 'ManualControl'], to: 'Completed' },
  TransferCancelled: { from: ['Pending', 'ManualControl'], to: 'Cancelled' },
  TransferFailed: { from: ['Pending', 'ManualControl'], to: 'Failed' },
  TransferReopened: { from: ['Cancelled', 'Failed'], to: 'ManualControl' },
}
const terminal: readonly string[] = ['TransferCompleted', 'TransferCancelled', 'TransferFailed']

interface ExpectedCallback {
  readonly status: number
  readonly amountMinor: bigint
}

export class ModelTransfer {
  status: Status | undefined
  /** The status after each event, by its revision. */
  readonly statuses: (Status | undefined)[] = []
  receivedMinor = 0n
  /** The part of the received money that the wallet's payments recorded. */
  collectedMinor = 0n
  bookedMinor = 0n
  refundedMinor = 0n
  returnedMinor = 0n
  resolvedMinor = 0n
  /** The amount of the completion, and the changes by corrections. */
  completedMinor = 0n
  correctedMinor = 0n
  isErased = false
  isApproved = false
  hasBankFile = false
  /** The references of payments and of returns. */
  readonly references = new Set<string>()
  readonly callbacks: ExpectedCallback[] = []
  /** The refunds of a deposit, and the payments of returned money of a withdrawal. */
  readonly payouts = new Map<string, { readonly to: string; isProposed: boolean; state: 'open' | 'paid' | 'ended' }>()
  /** The approvals that its merchant's settings require since before its creation; `undefined` if none. */
  approvalAboveMinor: bigint | undefined

  constructor(
    readonly trackingId: string,
    readonly kind: 'deposit' | 'withdrawal',
    readonly merchantId: string,
    readonly referenceId: string,
    readonly requestedMinor: bigint,
    readonly paymentMethod: number,
    readonly createdAt: string,
    /** The deposit or the withdrawal whose money it pays. */
    readonly pays: string | null,
  ) {}

  /** The money that has no decision. */
  get heldMinor(): bigint {
    if (this.kind === 'withdrawal') return this.returnedMinor - this.resolvedMinor
    return this.receivedMinor - this.bookedMinor - this.returnedMinor - this.resolvedMinor
  }
}

const minor = (value: unknown): bigint => BigInt(value as string | number)

export class LogModel {
  readonly transfers = new Map<string, ModelTransfer>()
  /** The trackingId by merchant and referenceId. */
  readonly byReference = new Map<string, string>()
  readonly events: RecordedEvent[] = []
  readonly #recorded = new Map<string, Set<number>>()
  /** The thresholds above which a second person approves, by merchant. */
  readonly #thresholds = new Map<string, bigint | null>()
  readonly #revisions = new Map<string, number>()

  /** Takes the next event of the log. @throws Violation */
  take(event: RecordedEvent): void {
    this.events.push(event)
    const expected = (this.#revisions.get(event.stream) ?? -1) + 1
    must('nothing-lost', event.revision === expected, () => `${event.stream} continues with ${event.revision}`)
    this.#revisions.set(event.stream, event.revision)
    if (event.stream.startsWith('transfer-')) this.#takeTransfer(event)
    else if (event.type === 'CallbackRecorded') this.#takeCallback(event)
    else if (event.type === 'CallbackSweepAdvanced') this.#takeCheckpoint(event)
    else if (event.stream.startsWith('merchant-')) this.#takeSettings(event)
  }

  #takeTransfer({ stream, type, data, revision, metadata }: RecordedEvent): void {
    const trackingId = stream.slice('transfer-'.length)
    const transition = transitions[type]
    let transfer = this.transfers.get(trackingId)
    const name = `${type} at revision ${revision} of ${trackingId}`
    if (transition) {
      const allowed = transition.from.includes(transfer?.status)
      if (terminal.includes(type) && transfer && !allowed)
        must('one-terminal-event', !isEnded(transfer.status), () => `${name} after it was ${transfer?.status}`)
      must('legal-transitions', allowed, () => `${name} after ${transfer?.status ?? 'nothing'}`)
    }
    if (!transfer) {
      must('legal-transitions', type.endsWith('Created'), () => `${name} without a creation`)
      transfer = this.#create(trackingId, type, data)
    }
    const before = transfer.status
    if (transition) transfer.status = transition.to
    transfer.statuses[revision] = transfer.status
    if (type === 'TransferCompleted' || type === 'WithdrawalAddedToBankFile') mustBeApproved(transfer, data, name)
    applyMoney(transfer, type, data, name)
    if (typeof data.reference !== 'string' && !String(metadata.actor).startsWith('user:'))
      transfer.collectedMinor += minor(data.receivedAmountMinor ?? 0)
    must('money-balance', transfer.heldMinor >= 0n, () => `${name}: ${shown(transfer)}`)
    if (isCalledBack(type, data, before !== transfer.status))
      transfer.callbacks.push({ status: statusCodes[transfer.status!], amountMinor: movedMinor(transfer) })
  }

  #create(trackingId: string, type: string, data: RecordedEvent['data']): ModelTransfer {
    const { merchantId, referenceId, amountMinor, paymentMethod, at, refundOf, repaymentOf } = data as never as {
      [name: string]: string
    }
    const kind = type === 'DepositCreated' ? 'deposit' : 'withdrawal'
    const key = `${merchantId} ${referenceId}`
    const first = this.byReference.get(key)
    must('nothing-lost', first === undefined, () => `${trackingId} repeats the referenceId of ${first}`)
    this.byReference.set(key, trackingId)
    const transfer = new ModelTransfer(
      ...([trackingId, kind, merchantId!, referenceId!, minor(amountMinor), Number(paymentMethod)] as const),
      ...([at!, refundOf ?? repaymentOf ?? null] as const),
    )
    transfer.approvalAboveMinor = this.#thresholds.get(merchantId!) ?? undefined
    this.transfers.set(trackingId, transfer)
    return transfer
  }

  #takeSettings({ type, data }: RecordedEvent): void {
    const changes = (data.settings ?? data.changes) as { readonly approvalAboveMinor?: string | null } | undefined
    if (!changes || !('approvalAboveMinor' in changes)) return
    const merchantId = String(data.merchantId)
    const threshold = changes.approvalAboveMinor === null ? null : minor(changes.approvalAboveMinor)
    this.#thresholds.set(merchantId, threshold)
    if (type === 'MerchantRegistered') return
    // A command may have read the settings before the change.
    for (const transfer of this.transfers.values())
      if (transfer.merchantId === merchantId) transfer.approvalAboveMinor = undefined
  }

  #takeCallback({ data }: RecordedEvent): void {
    const { trackingId, transferRevision } = data as { trackingId: string; transferRevision: number }
    const recorded = this.#recorded.get(trackingId) ?? new Set()
    must('callbacks', !recorded.has(transferRevision), () => `the callback of ${trackingId}@${transferRevision} twice`)
    recorded.add(transferRevision)
    this.#recorded.set(trackingId, recorded)
  }

  /** The callbacks of all events up to the checkpoint of the sweep are recorded. */
  #takeCheckpoint({ data }: RecordedEvent): void {
    const { stream, revision } = (data as { event: { stream: string; revision: number } }).event
    const statuses = new Map<string, unknown>()
    for (const event of this.events) {
      if (event.stream.startsWith('transfer-')) {
        const trackingId = event.stream.slice('transfer-'.length)
        const status = transitions[event.type]?.to ?? statuses.get(trackingId)
        if (isCalledBack(event.type, event.data, status !== statuses.get(trackingId)))
          must('checkpoints', this.#recorded.get(trackingId)?.has(event.revision), () => {
            return `the sweep is past ${event.stream}@${event.revision}, whose callback is not recorded`
          })
        statuses.set(trackingId, status)
      }
      if (event.stream === stream && event.revision === revision) return
    }
  }
}

/** A second person approves a withdrawal above a threshold that has applied since before its creation. */
function mustBeApproved(transfer: ModelTransfer, data: RecordedEvent['data'], name: string): void {
  const { kind, approvalAboveMinor: threshold, requestedMinor, isApproved } = transfer
  if (kind === 'deposit' || threshold === undefined || isApproved) return
  const paidMinor = minor(data.transactionAmountMinor ?? requestedMinor)
  must('legal-transitions', paidMinor <= threshold, () => `${name} without the approval above ${threshold}`)
}

const isEnded = (status: Status | undefined) => status === 'Completed' || status === 'Cancelled' || status === 'Failed'

function isCalledBack(type: string, data: RecordedEvent['data'], hasChanged: boolean): boolean {
  if (type.endsWith('Created')) return data.callbackOnCreate === true
  if (type === 'FundsReturned' || type === 'WithdrawalReturned') return data.callbackOnMoney === true
  return hasChanged || type === 'TransferCorrected'
}

/** The TransactionAmount of a callback. */
function movedMinor(transfer: ModelTransfer): bigint {
  if (transfer.status === 'Completed') return transfer.bookedMinor + transfer.refundedMinor
  return transfer.kind === 'deposit' ? transfer.receivedMinor - transfer.returnedMinor : 0n
}

function applyMoney(transfer: ModelTransfer, type: string, data: RecordedEvent['data'], name: string): void {
  const amount = (field: string) => minor(data[field] ?? 0)
  switch (type) {
    case 'FundsReceived':
    case 'LateFundsReceived':
    case 'WithdrawalReturned': {
      const { reference } = data
      if (typeof reference === 'string') {
        must('money-balance', !transfer.references.has(reference), () => `${name} repeats reference ${reference}`)
        transfer.references.add(reference)
      }
      if (type === 'WithdrawalReturned') {
        transfer.returnedMinor += amount('returnedAmountMinor')
        const isKept = transfer.returnedMinor <= transfer.bookedMinor
        must('money-balance', isKept, () => `${name}: more came back than was paid`)
      } else transfer.receivedMinor += amount('receivedAmountMinor')
      break
    }
    case 'TransferCompleted':
      transfer.bookedMinor = amount('transactionAmountMinor')
      transfer.completedMinor = transfer.bookedMinor
      transfer.receivedMinor += amount('receivedAmountMinor')
      break
    case 'TransferCancelled':
      transfer.receivedMinor += amount('receivedAmountMinor')
      break
    case 'TransferCorrected':
      must('money-balance', amount('previousAmountMinor') === transfer.bookedMinor + transfer.refundedMinor, () => name)
      transfer.correctedMinor += amount('transactionAmountMinor') - amount('previousAmountMinor')
      transfer.bookedMinor = amount('transactionAmountMinor') - transfer.refundedMinor
      transfer.receivedMinor += amount('receivedAmountChangeMinor')
      break
    case 'FundsReturned': {
      const booked = amount('bookedAmountMinor')
      transfer.returnedMinor += amount('returnedAmountMinor')
      transfer.bookedMinor -= booked
      transfer.refundedMinor += booked
      endPayout(transfer, data.refundId, 'paid', name)
      break
    }
    case 'RefundRequested':
      transfer.payouts.set(String(data.refundId), {
        to: String(data.to),
        isProposed: data.needsApproval === true,
        state: 'open',
      })
      break
    case 'RefundApproved':
      transfer.payouts.get(String(data.refundId))!.isProposed = false
      break
    case 'RefundEnded':
      endPayout(transfer, data.refundId, 'ended', name)
      break
    case 'RepaymentRequested':
      transfer.payouts.set(String(data.repaymentId), { to: 'account', isProposed: false, state: 'open' })
      break
    case 'RepaymentEnded':
      transfer.resolvedMinor += amount('resolvedAmountMinor')
      endPayout(transfer, data.repaymentId, data.outcome === 'paid' ? 'paid' : 'ended', name)
      break
    case 'WithdrawalApproved':
      transfer.isApproved = true
      break
    case 'AttentionResolved':
      transfer.resolvedMinor += amount('resolvedAmountMinor')
      break
    case 'WithdrawalAddedToBankFile':
      must('one-bank-file', !transfer.hasBankFile || data.reason !== null, () => `${name} without a reason`)
      transfer.hasBankFile = true
      break
    case 'WithdrawalReleased':
      transfer.hasBankFile = false
      break
    case 'PersonalDataErased':
      transfer.isErased = true
      break
  }
}

function endPayout(transfer: ModelTransfer, id: unknown, state: 'paid' | 'ended', name: string): void {
  const payout = transfer.payouts.get(String(id))
  if (!payout) return
  must('one-payout', payout.state === 'open', () => `${name} ends the payout ${id}, which is ${payout.state}`)
  payout.state = state
}

function shown({ receivedMinor, bookedMinor, returnedMinor, resolvedMinor }: ModelTransfer): string {
  return `received ${receivedMinor}, booked ${bookedMinor}, returned ${returnedMinor}, resolved ${resolvedMinor}`
}
