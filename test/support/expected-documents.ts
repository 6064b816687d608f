import type { CallbackEvent } from '../../src/domain/callback.js'
import * as callback from '../../src/domain/callback.js'
import { isTerminal, type Status } from '../../src/domain/transfer/status.js'
import * as transfer from '../../src/domain/transfer/transfer.js'
import { noFunds } from '../../src/domain/transfer/transfer.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { decodeEvent } from '../../src/event-store/event-codec.js'
import type { EventStore, Position, RecordedEvent } from '../../src/event-store/event-store.js'
import type { Document, ReadModels } from '../../src/read-models/read-models.js'

/** The non-empty collections by name, with each document as canonical JSON in the order of ids. */
type Documents = { readonly [collection: string]: readonly string[] }

/**
 * Returns the expected documents, folded from the log by the domain's `evolve` and by counting. No code is shared
 * with the projections.
 */
export function expectedDocuments(log: readonly RecordedEvent[]): Documents {
  const events = log.map((recorded) => ({ recorded, event: decodeEvent(recorded) as TransferEvent | CallbackEvent }))
  const inStreams = (prefix: string) => events.filter(({ recorded }) => recorded.stream.startsWith(prefix))
  const transfers = inStreams('transfer-') as Recorded<TransferEvent>[]
  const callbacks = inStreams('callback-') as Recorded<CallbackEvent>[]
  return canonical({
    transfers: transferDocuments(transfers),
    callbacks: callbackDocuments(callbacks),
    totals: totalDocuments(transfers),
    transfer_events: feedDocuments(transfers),
  })
}

/** Reads the log up to its end, without system streams. */
export async function wholeLog(store: EventStore): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  let after: Position | undefined
  for (;;) {
    const page = await store.readAll({ maxCount: 1_000, ...(after && { after }) })
    events.push(...page.events)
    after = page.checkpoint ?? after
    if (page.atEnd) return events
  }
}

/** Returns the documents of the read models. */
export async function storedDocuments(readModels: ReadModels): Promise<Documents> {
  const names = ['transfers', 'callbacks', 'totals', 'transfer_events']
  const found = await Promise.all(names.map((name) => readModels.collection(name).find({})))
  return canonical(Object.fromEntries(names.map((name, n) => [name, found[n]!])))
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

interface Recorded<Event> {
  readonly recorded: RecordedEvent
  readonly event: Event
}

function canonical(documents: { readonly [collection: string]: readonly Document[] }): Documents {
  return Object.fromEntries(
    Object.entries(documents).map(([name, all]) => [
      name,
      [...all].sort((a, b) => (a._id < b._id ? -1 : 1)).map((document) => canonicalJson(document)),
    ]),
  )
}

function byStream<Event>(events: readonly Recorded<Event>[]): Recorded<Event>[][] {
  const streams = new Map<string, Recorded<Event>[]>()
  for (const one of events) streams.set(one.recorded.stream, [...(streams.get(one.recorded.stream) ?? []), one])
  return [...streams.values()]
}

function transferDocuments(events: readonly Recorded<TransferEvent>[]): Document[] {
  return byStream(events).map((stream) => {
    const state = stream.reduce((state, { event }) => transfer.evolve(state, event), transfer.initialState)
    if (state.kind === 'none') throw new Error('a transfer without events')
    const { trackingId, ...rest } = state
    const { funds, payout, autoCancelledAmountMinor, cancelReason, reopened, ...others } = { ...initialFields, ...rest }
    const {
      bankPayments,
      corrections,
      proposals,
      firstExpiresAt,
      refunds,
      repayments,
      returns,
      resolvedMinor,
      ...fields
    } = others
    const lateMinor = stream.reduce((late, { event }, index) => {
      if (event.type !== 'LateFundsReceived') return late
      const before = stream
        .slice(0, index)
        .reduce((state, one) => transfer.evolve(state, one.event), transfer.initialState)
      return before.kind !== 'none' && isTerminal(before.status) ? late + Number(event.data.receivedAmountMinor) : late
    }, 0)
    return {
      _id: trackingId,
      position: Number(stream[0]!.recorded.position.commit),
      ...Object.fromEntries(Object.entries(asNumbers(fields) as object).filter(([, value]) => value !== null)),
      ...(funds.receivedMinor > 0n && { funds: asNumbers(funds) }),
      ...(payout.steps.length > 0 && { payout: asNumbers(payout) }),
      ...(payout.files.length > 0 && { bankFiles: payout.files.map((file) => file.messageId).join(' ') }),
      ...(autoCancelledAmountMinor !== null && { autoCancelledAmountMinor: Number(autoCancelledAmountMinor) }),
      ...(cancelReason !== null && { cancelReason }),
      ...(reopened && { reopened }),
      ...(refunds.length > 0 && { refunds: asNumbers(refunds) }),
      ...(repayments.length > 0 && { repayments: asNumbers(repayments) }),
      ...([...refunds, ...repayments].some((each) => each.state === 'open') && { openPayouts: true }),
      ...(bankPayments.length > 0 && { bankPayments: asNumbers(bankPayments) }),
      ...(proposals > 0 && { proposals }),
      ...(corrections.length > 0 && { corrections: asNumbers(corrections) }),
      ...(returns.length > 0 && { returns: asNumbers(returns) }),
      ...(resolvedMinor > 0n && { resolvedMinor: Number(resolvedMinor) }),
      ...(state.kind === 'deposit' && firstExpiresAt !== state.expiresAt && { firstExpiresAt }),
      ...(lateMinor > 0 && { lateMinor }),
      ...(transfer.needsAttention(state) && {
        attention: state.kind,
        attentionOf: `${state.kind} ${state.merchantId}`,
      }),
      ...(state.kind === 'deposit' && state.status === 'Pending' && { openUntil: state.expiresAt }),
      revision: stream.at(-1)!.recorded.revision,
    }
  })
}

/** The initial values of fields that only the other kind of transfer uses. */
const initialFields = {
  funds: noFunds,
  payout: transfer.noPayout,
  autoCancelledAmountMinor: null,
  cancelReason: null,
  reopened: false,
  firstExpiresAt: '',
  returns: [],
  resolvedMinor: 0n,
  refunds: [] as readonly transfer.Refund[],
  repayments: [] as readonly transfer.Repayment[],
}

function asNumbers(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? Number(inner) : inner)))
}

function callbackDocuments(events: readonly Recorded<CallbackEvent>[]): Document[] {
  return byStream(events).flatMap((stream) => {
    const lane = stream.reduce((lane, { event }) => callback.evolve(lane, event), callback.initialState)
    return lane.deliveries.map((delivery) => {
      const { webhookId, transferRevision, payload, status, attempts, lastFailure } = delivery
      const { waitingSince, nextAttemptAt } = delivery
      const own = stream.filter(({ event }) => event.data.webhookId === webhookId)
      const last = own.at(-1)!
      return {
        _id: webhookId,
        position: Number(own[0]!.recorded.position.commit),
        merchantId: lane.merchantId,
        trackingId: lane.trackingId,
        transferRevision,
        transferStatus: payload.status,
        referenceId: payload.referenceId,
        status,
        attempts,
        ...(status === 'waiting' && { dueAt: nextAttemptAt, dueSince: waitingSince }),
        ...(status === 'parked' && { parkedAt: last.event.data.at }),
        ...(lastFailure !== null && { lastFailure }),
        recordedAt: own[0]!.event.data.at,
        revision: last.recorded.revision,
      }
    })
  })
}

const statusReached: { readonly [type in TransferEvent['type']]: Status | null } = {
  DepositCreated: 'Pending',
  WithdrawalCreated: 'Pending',
  TransferCompleted: 'Completed',
  TransferSentToManualControl: 'ManualControl',
  TransferCancelled: 'Cancelled',
  TransferFailed: 'Failed',
  TransferReopened: 'ManualControl',
  LateFundsReceived: null,
  FundsReturned: null,
  RefundRequested: null,
  RefundApproved: null,
  RefundEnded: null,
  RepaymentRequested: null,
  RepaymentEnded: null,
  AttentionResolved: null,
  FundsReceived: null,
  CorrectionProposed: null,
  TransferCorrected: null,
  WithdrawalClaimed: null,
  WithdrawalReleased: null,
  WithdrawalAddedToBankFile: null,
  WithdrawalApproved: null,
  WithdrawalReturned: null,
  BankPaymentMatched: null,
  PersonalDataErased: null,
}

function totalDocuments(events: readonly Recorded<TransferEvent>[]): Document[] {
  const counted = events.flatMap((one) => {
    const { type, data } = one.event
    const status = statusReached[type]
    let { amountMinor } = data
    if (type === 'FundsReturned' || type === 'WithdrawalReturned') amountMinor = data.returnedAmountMinor
    if (type === 'LateFundsReceived' || type === 'FundsReceived') amountMinor = data.receivedAmountMinor
    if (type === 'TransferCorrected') amountMinor = data.transactionAmountMinor - data.previousAmountMinor
    if (type === 'AttentionResolved' || type === 'RepaymentEnded') amountMinor = data.resolvedAmountMinor
    const isUnpaid = type === 'RepaymentEnded' && data.outcome !== 'paid'
    const isCounted = type in additionalStatus && !isUnpaid
    const names = [...(status ? [status] : []), ...(isCounted ? [additionalStatus[type]!] : [])]
    if (type === 'FundsReturned' && data.bookedAmountMinor! > 0n)
      return [
        { ...one, name: 'Returned', amountMinor },
        { ...one, name: 'Refunded', amountMinor: data.bookedAmountMinor! },
      ]
    return names.map((name) => ({ ...one, name, amountMinor }))
  })
  const periods = counted.flatMap((one) =>
    [one.event.data.merchantId, '*'].flatMap((owner) =>
      [16, 10, 7].map((length) => ({ ...one, key: [owner, length, quarterStart(one).slice(0, length)].join('|') })),
    ),
  )
  const groups = groupBy(periods, ({ key, name, event }) => [key, event.data.kind, name].join('|'))
  return Object.entries(groups).map(([_id, group = []]) => {
    const [, , , kind, counted] = _id.split('|')
    const sum = (amountOf: (one: (typeof group)[number]) => bigint) =>
      String(group.reduce((total, one) => total + amountOf(one), 0n))
    return {
      _id,
      kind,
      counted,
      count: group.length,
      amountMinor: sum(({ amountMinor }) => amountMinor),
      transactionAmountMinor: sum(({ event: { type, data }, amountMinor }) => {
        if (type === 'TransferCorrected') return amountMinor
        return 'transactionAmountMinor' in data ? data.transactionAmountMinor : 0n
      }),
      receivedMinor: sum(({ event: { type, data } }) => {
        if (type === 'TransferCorrected') return data.receivedAmountChangeMinor
        return 'receivedAmountMinor' in data ? data.receivedAmountMinor : 0n
      }),
      position: Number(group.at(-1)!.recorded.position.commit),
    }
  })
}

function quarterStart({ event: { data } }: Recorded<TransferEvent>): string {
  return new Date(Math.floor(Date.parse(data.at) / 900_000) * 900_000).toISOString()
}

/** The additional status under which an event is counted. */
const additionalStatus: { readonly [type in TransferEvent['type']]?: string } = {
  TransferReopened: 'Reopened',
  FundsReturned: 'Returned',
  WithdrawalReturned: 'Returned',
  LateFundsReceived: 'Received',
  FundsReceived: 'Received',
  TransferCorrected: 'Corrected',
  AttentionResolved: 'Resolved',
  RepaymentEnded: 'Resolved',
}

function feedDocuments(events: readonly Recorded<TransferEvent>[]): Document[] {
  return events.map(({ recorded: { revision, position }, event: { data } }) => ({
    _id: position.commit.toString().padStart(16, '0'),
    merchantId: data.merchantId,
    trackingId: data.trackingId,
    revision,
    ...(position.prepare !== position.commit && { prepare: String(position.prepare) }),
  }))
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): { [key: string]: T[] } {
  const groups: { [key: string]: T[] } = {}
  for (const value of values) {
    const key = keyOf(value)
    groups[key] ??= []
    groups[key].push(value)
  }
  return groups
}
