import { hourMs, leftOfWaitMs, minuteMs } from '../kernel/time.js'
import { Type } from '../kernel/typebox.js'
import { accept, type Decider, type Decision, refuse } from './decider.js'
import { Data, type DataOf, type EventsOf, Nullable, type ValueOf } from './event.js'
import { Count, Id, Index, Minor, PositiveMinor, ReferenceId, Text, Time } from './fields.js'
import { formatShortest } from './money.js'
import { statusNameOf } from './transfer/status.js'

const CallbackPayload = Data({
  /** 1 to 5: a status value of the specification. */
  status: Type.Integer({ minimum: 1, maximum: 5 }),
  referenceId: ReferenceId,
  message: Nullable(Text),
  amountMinor: PositiveMinor,
  transactionAmountMinor: Minor,
  hasAmountMismatch: Type.Boolean(),
  receiptUrl: Nullable(Text),
})
/** The content of a callback. Hash and signature are calculated when it is sent, because secrets may rotate in the meantime. */
export type CallbackPayload = ValueOf<typeof CallbackPayload>

const callback = {
  /** The id of the transfer's event, which is also the `webhook-id` header. */
  webhookId: Id,
  trackingId: Id,
  merchantId: Id,
  at: Time,
}

const attempt = {
  ...callback,
  attempt: Count,
  /** The status of the response; null if none came. */
  httpStatus: Nullable(Type.Integer()),
  durationMs: Type.Number({ minimum: 0 }),
}

/** The delivery log of one transfer's callbacks, in `callback-<trackingId>`. */
export const callbackEvents = {
  CallbackRecorded: Data({
    ...callback,
    /** The revision of the transfer's event, which is the callback's place in the lane. */
    transferRevision: Index,
    payload: CallbackPayload,
    /** The time before which it is not sent, for a sandbox's delayed callback. */
    dueAt: Type.Optional(Time),
  }),
  CallbackDelivered: Data(attempt),
  CallbackAttemptFailed: Data({ ...attempt, reason: Text, nextAttemptAt: Time }),
  /** The last attempt of the schedule failed. The callback stays parked until it is requeued. */
  CallbackParked: Data({ ...attempt, reason: Text }),
  CallbackRequeued: Data(callback),
}

export type CallbackEvent = EventsOf<typeof callbackEvents>

export interface Delivery
  extends Pick<DataOf<CallbackEvent, 'CallbackRecorded'>, 'webhookId' | 'transferRevision' | 'payload'> {
  readonly status: 'waiting' | 'delivered' | 'parked'
  /** The number of failed attempts since the callback was recorded or requeued. */
  readonly attempts: number
  readonly recordedAt: string
  /** Meaningful only while the status is `waiting`, like `nextAttemptAt`: when the wait for the next attempt began. */
  readonly waitingSince: string
  readonly nextAttemptAt: string
  /** Why the last attempt failed, or null. */
  readonly lastFailure: string | null
  readonly requeues: number
  readonly requeuedAt: string | null
}

/** The lane of one transfer: deliveries by transfer revision, lowest first. */
export interface Lane {
  readonly trackingId: string | null
  readonly merchantId: string | null
  readonly deliveries: readonly Delivery[]
}

export const initialState: Lane = { trackingId: null, merchantId: null, deliveries: [] }

export type AttemptOutcome =
  | { readonly result: 'delivered' }
  | { readonly result: 'failed'; readonly reason: string; readonly nextAttemptAt: string }
  | { readonly result: 'parked'; readonly reason: string }

export interface Attempted extends Pick<DataOf<CallbackEvent, 'CallbackDelivered'>, 'httpStatus' | 'durationMs'> {
  readonly attempt: number
  readonly outcome: AttemptOutcome
}

export type CallbackCommand =
  | ({ readonly type: 'Record' } & DataOf<CallbackEvent, 'CallbackRecorded'>)
  | ({ readonly type: 'ReportAttempt'; readonly webhookId: string; readonly at: string } & Attempted)
  | RequeueCommand

interface RequeueCommand {
  /**
   * `Requeue`: an operator's request, at any time. `Resend`: a merchant's request, after {@link untilResendableMs}. `Replay`: a sandbox
   * merchant's request, at any time, regardless of the state.
   */
  readonly type: 'Requeue' | 'Resend' | 'Replay'
  readonly which: Requeued
  readonly at: string
}

/** One callback regardless of its status, the latest one, or all parked ones. */
export type Requeued = { readonly webhookId: string } | 'latest' | 'parked'

/** A merchant can resend a callback a minute after its first requeue, then after 2, 4 … minutes. */
const firstResendPauseMs = minuteMs
const longestResendPauseMs = hourMs
export const callbackDecider: Decider<Lane, CallbackCommand, CallbackEvent> = { initialState, decide, evolve }

export function decide(command: CallbackCommand, lane: Lane): Decision<CallbackEvent> {
  switch (command.type) {
    case 'Record': {
      if (find(lane, command.webhookId)) return accept()
      const { type: _, ...data } = command
      return accept({ type: 'CallbackRecorded', data })
    }
    case 'ReportAttempt':
      return reportAttempt(command, lane)
    case 'Requeue':
    case 'Resend':
    case 'Replay':
      return requeue(command, lane)
    default:
      return command satisfies never
  }
}

function reportAttempt(command: CallbackCommand & { type: 'ReportAttempt' }, lane: Lane): Decision<CallbackEvent> {
  const { webhookId, attempt, httpStatus, durationMs, outcome, at } = command
  const delivery = find(lane, webhookId)
  if (!delivery) return refuse('not-found', 'unknown-callback')
  if (delivery.status !== 'waiting') return accept()
  // An earlier holder of the lane sent it, or it was sent before a requeue. Its failure neither counts nor schedules the next attempt.
  if (outcome.result !== 'delivered' && attempt !== delivery.attempts + 1) return accept()
  const data = { ...ids(lane, webhookId, at), attempt: delivery.attempts + 1, httpStatus, durationMs }
  switch (outcome.result) {
    case 'delivered':
      return accept({ type: 'CallbackDelivered', data })
    case 'failed': {
      const { reason, nextAttemptAt } = outcome
      return accept({ type: 'CallbackAttemptFailed', data: { ...data, reason, nextAttemptAt } })
    }
    case 'parked':
      return accept({ type: 'CallbackParked', data: { ...data, reason: outcome.reason } })
    default:
      return outcome satisfies never
  }
}

function requeue(command: RequeueCommand, lane: Lane): Decision<CallbackEvent> {
  const { type, which, at } = command
  const chosen = requeued(lane, which)
  if (chosen.length === 0 && which !== 'parked') return refuse('not-found', 'unknown-callback')
  // A callback that is due for its first attempt needs no requeue. One that is delayed or waits after a failure is sent immediately.
  const isIdle = ({ status, attempts, waitingSince, nextAttemptAt }: Delivery) =>
    status !== 'waiting' || attempts > 0 || nextAttemptAt > waitingSince
  const isFree = (delivery: Delivery) => type !== 'Resend' || untilResendableMs(delivery, Date.parse(at)) === 0
  const isSelected = selectedBy(lane, which)
  const idle = chosen.filter((delivery) => isIdle(delivery) || (type === 'Replay' && isSelected(delivery)))
  const free = idle.filter(isFree)
  if (idle.length > 0 && free.length === 0) return refuse('conflict', 'resent-too-often')
  return accept(...free.map(({ webhookId }) => ({ type: 'CallbackRequeued', data: ids(lane, webhookId, at) }) as const))
}

/**
 * Returns the callbacks of a lane that a request to requeue selects, lowest revision first. They include those that wait before a selected
 * one: a lane is sent in order, so the request would otherwise have no effect until they are due.
 */
export function requeued(lane: Lane, which: Requeued): readonly Delivery[] {
  const isSelected = selectedBy(lane, which)
  const last = lane.deliveries.findLastIndex(isSelected)
  return lane.deliveries.filter((each, index) => isSelected(each) || (each.status === 'waiting' && index < last))
}

function selectedBy({ deliveries }: Lane, which: Requeued): (delivery: Delivery) => boolean {
  if (which === 'latest') return (delivery) => delivery === deliveries.at(-1)
  return (delivery) => (which === 'parked' ? delivery.status === 'parked' : delivery.webhookId === which.webhookId)
}

/** Returns the milliseconds until a merchant can resend the callback, or 0. */
export function untilResendableMs({ requeues, requeuedAt }: Delivery, nowMs: number): number {
  if (requeuedAt === null) return 0
  const sinceMs = Date.parse(requeuedAt)
  const pauseMs = Math.min(longestResendPauseMs, firstResendPauseMs * 2 ** (requeues - 1))
  return leftOfWaitMs(sinceMs, sinceMs + pauseMs, nowMs)
}

function find({ deliveries }: Lane, webhookId: string): Delivery | undefined {
  return deliveries.find((each) => each.webhookId === webhookId)
}

function ids(lane: Lane, webhookId: string, at: string) {
  if (lane.trackingId === null || lane.merchantId === null) throw new Error('a delivery in a lane without an owner')
  return { webhookId, trackingId: lane.trackingId, merchantId: lane.merchantId, at }
}

export function evolve(lane: Lane, event: CallbackEvent): Lane {
  switch (event.type) {
    case 'CallbackRecorded': {
      const { webhookId, transferRevision, payload, at, dueAt = at, trackingId, merchantId } = event.data
      const unsent = { status: 'waiting', attempts: 0, lastFailure: null, requeues: 0, requeuedAt: null } as const
      const delivery = {
        webhookId,
        transferRevision,
        payload,
        recordedAt: at,
        waitingSince: at,
        nextAttemptAt: dueAt,
        ...unsent,
      }
      const deliveries = [...lane.deliveries, delivery].sort((a, b) => a.transferRevision - b.transferRevision)
      return { trackingId, merchantId, deliveries }
    }
    case 'CallbackDelivered':
      return change(lane, event.data.webhookId, { status: 'delivered', lastFailure: null })
    case 'CallbackAttemptFailed': {
      const { webhookId, attempt, at: waitingSince, nextAttemptAt, reason } = event.data
      return change(lane, webhookId, { attempts: attempt, waitingSince, nextAttemptAt, lastFailure: reason })
    }
    case 'CallbackParked': {
      const { attempt, reason } = event.data
      return change(lane, event.data.webhookId, { status: 'parked', attempts: attempt, lastFailure: reason })
    }
    case 'CallbackRequeued': {
      const { webhookId, at } = event.data
      const requeues = 1 + (find(lane, webhookId)?.requeues ?? 0)
      const waiting = { status: 'waiting', attempts: 0, waitingSince: at, nextAttemptAt: at } as const
      return change(lane, webhookId, { ...waiting, requeues, requeuedAt: at })
    }
    default:
      return event satisfies never
  }
}

function change(lane: Lane, webhookId: string, changes: Partial<Delivery>): Lane {
  if (!find(lane, webhookId)) throw new Error('an attempt of a callback that was never recorded')
  const deliveries = lane.deliveries.map((each) => (each.webhookId === webhookId ? { ...each, ...changes } : each))
  return { ...lane, deliveries }
}

/** Returns the milliseconds until a waiting callback is due, or 0. One without a delay that is new or requeued is due regardless of the clock. */
export function untilDueMs({ waitingSince, nextAttemptAt }: Delivery, nowMs: number): number {
  return leftOfWaitMs(Date.parse(waitingSince), Date.parse(nextAttemptAt), nowMs)
}

/** Returns the callback to send next. The callbacks of one transfer are sent one at a time, lowest revision first. */
export function nextDelivery(lane: Lane): Delivery | undefined {
  return lane.deliveries.find((delivery) => delivery.status === 'waiting')
}

const endpoint = { merchantId: Id, at: Time }

/** The health of a merchant's callback endpoint, which outlasts a restart, in `callbacks-endpoint-<merchantId>`. */
export const endpointEvents = {
  /** Every attempt has failed since `since`. A single failure is not recorded. */
  CallbackEndpointFailing: Data({ ...endpoint, since: Time }),
  CallbackEndpointRecovered: Data(endpoint),
  /** A user requested it, or a test event was delivered: callbacks that wait after a failed attempt are sent again. */
  CallbackRetryRequested: Data(endpoint),
}

export type EndpointEvent = EventsOf<typeof endpointEvents>

export type EndpointCommand =
  | ({ readonly type: 'NoteFailing' } & DataOf<EndpointEvent, 'CallbackEndpointFailing'>)
  | ({ readonly type: 'NoteRecovered' } & DataOf<EndpointEvent, 'CallbackEndpointRecovered'>)
  | ({ readonly type: 'RequestRetry' } & DataOf<EndpointEvent, 'CallbackRetryRequested'>)

export interface EndpointState {
  /** Null while the endpoint accepts callbacks. */
  readonly failingSince: string | null
  readonly retryRequestedAt: string | null
}

export const endpointDecider: Decider<EndpointState, EndpointCommand, EndpointEvent> = {
  initialState: { failingSince: null, retryRequestedAt: null },
  decide(command, { failingSince }) {
    switch (command.type) {
      case 'NoteFailing': {
        const { type: _, ...data } = command
        return failingSince === null ? accept({ type: 'CallbackEndpointFailing', data }) : accept()
      }
      case 'NoteRecovered': {
        const { type: _, ...data } = command
        return failingSince === null ? accept() : accept({ type: 'CallbackEndpointRecovered', data })
      }
      case 'RequestRetry': {
        const { type: _, ...data } = command
        return accept({ type: 'CallbackRetryRequested', data })
      }
      default:
        return command satisfies never
    }
  },
  evolve(state, { type, data }) {
    if (type === 'CallbackRetryRequested') return { ...state, retryRequestedAt: data.at }
    return { ...state, failingSince: type === 'CallbackEndpointFailing' ? data.since : null }
  },
}

/**
 * Returns the JSON text of a callback: the specification's ten fields in its order and spelling (Events, "Payload"). The text is built
 * here because HashCode covers the text of Amount: the hashed and the sent text are the same string. TransactionAmount is 0 until money
 * moves, and ReceiptUrl is an empty string without a receipt.
 */
export function callbackBody(
  payload: CallbackPayload,
  trackingId: string,
  hashCodeOf: (amount: string, referenceId: string) => string,
): string {
  const amount = formatShortest(payload.amountMinor)
  const fields = [
    `"Status":${payload.status}`,
    `"StatusDescription":${JSON.stringify(statusNameOf(payload.status))}`,
    `"TrackingId":${JSON.stringify(trackingId)}`,
    `"RefereneceId":${JSON.stringify(payload.referenceId)}`,
    `"HashCode":"${hashCodeOf(amount, payload.referenceId)}"`,
    `"Message":${JSON.stringify(payload.message)}`,
    `"Amount":${amount}`,
    `"TransactionAmount":${formatShortest(payload.transactionAmountMinor)}`,
    `"HasAmountMismatch":${payload.hasAmountMismatch}`,
    `"ReceiptUrl":${JSON.stringify(payload.receiptUrl ?? '')}`,
  ]
  return `{${fields.join(',')}}`
}
