import type { EventsOf } from '../event.js'

/** The delivery log of one transfer's callbacks, stream `callback-<trackingId>`. */

/** What the callback says; hash and signature are made when it is sent, as secrets may rotate meanwhile. */
export interface CallbackPayload {
  /** 1 to 5, see the specification's status values. */
  readonly status: number
  readonly referenceId: string
  readonly message: string | null
  readonly amountMinor: bigint
  readonly transactionAmountMinor: bigint
  readonly hasAmountMismatch: boolean
  readonly receiptUrl: string | null
}

interface Common {
  /** The id of the transfer's event, also the `webhook-id` header. */
  readonly webhookId: string
  readonly trackingId: string
  readonly merchantId: string
  readonly at: string
}

interface Attempt extends Common {
  /** From 1, anew after a requeue. */
  readonly attempt: number
  /** Null when no answer came. */
  readonly httpStatus: number | null
  readonly durationMs: number
}

interface CallbackData {
  CallbackRecorded: Common & { transferRevision: number; payload: CallbackPayload }
  CallbackDelivered: Attempt
  CallbackAttemptFailed: Attempt & { reason: string; nextAttemptAt: string }
  /** The last attempt of the schedule failed; kept until it is requeued. */
  CallbackParked: Attempt & { reason: string }
  CallbackRequeued: Common
}

export type CallbackEvent = EventsOf<CallbackData>
