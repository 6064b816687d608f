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

interface Attempt {
  /** From 1, anew after a requeue. */
  readonly attempt: number
  /** Null when no answer came. */
  readonly httpStatus: number | null
  readonly durationMs: number
}

export interface CallbackRecorded {
  readonly type: 'CallbackRecorded'
  readonly data: Common & { readonly transferRevision: number; readonly payload: CallbackPayload }
}

export interface CallbackDelivered {
  readonly type: 'CallbackDelivered'
  readonly data: Common & Attempt
}

export interface CallbackAttemptFailed {
  readonly type: 'CallbackAttemptFailed'
  readonly data: Common & Attempt & { readonly reason: string; readonly nextAttemptAt: string }
}

/** The last attempt of the schedule failed; kept until it is requeued. */
export interface CallbackParked {
  readonly type: 'CallbackParked'
  readonly data: Common & Attempt & { readonly reason: string }
}

export interface CallbackRequeued {
  readonly type: 'CallbackRequeued'
  readonly data: Common
}

/**
 * Of the stream `callbacks-sweep`: every change of a transfer up to and including `event`, in the global order, has its
 * callback recorded; null: no change is known to have. An event and not a position, which names another place, or none,
 * once the log is copied to another engine.
 */
export interface CallbackSweepAdvanced {
  readonly type: 'CallbackSweepAdvanced'
  readonly data: { readonly event: { readonly stream: string; readonly revision: number } | null; readonly at: string }
}

export type CallbackEvent =
  | CallbackRecorded
  | CallbackDelivered
  | CallbackAttemptFailed
  | CallbackParked
  | CallbackRequeued
