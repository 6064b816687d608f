import { Type } from '../../kernel/typebox.js'
import {
  Count,
  Data,
  type EventsOf,
  Id,
  Index,
  Minor,
  Nullable,
  PositiveMinor,
  Text,
  Time,
  type ValueOf,
} from '../event.js'

const CallbackPayload = Data({
  /** 1 to 5: a status value of the specification. */
  status: Type.Integer({ minimum: 1, maximum: 5 }),
  referenceId: Id,
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
  /** The attempt's number from 1, which restarts after a requeue. */
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
  }),
  CallbackDelivered: Data(attempt),
  CallbackAttemptFailed: Data({ ...attempt, reason: Text, nextAttemptAt: Time }),
  /** The last attempt of the schedule failed. The callback stays parked until it is requeued. */
  CallbackParked: Data({ ...attempt, reason: Text }),
  CallbackRequeued: Data(callback),
}

export type CallbackEvent = EventsOf<typeof callbackEvents>
