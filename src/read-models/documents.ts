import type { CancelReason, DepositChannel, TransferKind } from '../domain/transfer/events.js'
import type { Status } from '../domain/transfer/transfer.js'
import type { Document, Filter, Index, Sort } from './read-models.js'

/**
 * Every document the projections keep, with the indexes of its collection. Amounts are whole minor units, times ISO 8601 in
 * UTC with milliseconds. A field that is absent is one that does not apply now, and an index on it finds those that have it.
 * Documents are disposable: what is known about one transfer is folded from the log, these answer lists and feeds.
 */

/** One transfer; `_id` is its trackingId. */
export interface TransferDocument extends Document {
  readonly merchantId: string
  readonly kind: TransferKind
  readonly status: Status
  readonly referenceId: string
  readonly amountMinor: number
  readonly transactionAmountMinor: number
  readonly hasAmountMismatch: boolean
  readonly receiptUrl: string | null
  readonly message: string | null
  readonly userId: string
  readonly name: string
  readonly username: string
  readonly paymentMethod: number
  /** Deposits only. */
  readonly channel?: DepositChannel
  /** Deposits only. */
  readonly expiresAt?: string
  /** Deposits only; absent while no money came. */
  readonly funds?: FundsDocument
  /** Deposits only; absent when it was not cancelled automatically. */
  readonly autoCancelledAmountMinor?: number
  /** Deposits only; absent when it is not cancelled. */
  readonly cancelReason?: CancelReason
  /** Deposits only; absent when it was not reopened. */
  readonly reopened?: true
  /** Withdrawals only. */
  readonly accountNumber?: string
  /** Withdrawals only. */
  readonly identityNumber?: string | null
  readonly createdAt: string
  readonly updatedAt: string
  /** The same as `expiresAt`, while the deposit is Pending. */
  readonly openUntil?: string
  /** While a person has to decide about its money. */
  readonly attention?: 'open'
  /** Of the stream's event this document has come to. */
  readonly revision: number
}

/** See the domain's `Funds`. */
export interface FundsDocument {
  readonly receivedMinor: number
  readonly returns: readonly { readonly amountMinor: number; readonly receiptUrl: string }[]
  readonly resolvedMinor: number
  readonly vouchedMinor: number
}

/** One callback of one transfer; `_id` is its webhookId, the id of the transfer's event. */
export interface CallbackDocument extends Document {
  readonly merchantId: string
  readonly trackingId: string
  /** The revision of the transfer it tells about. */
  readonly transferRevision: number
  /** 1 to 5: the status of the transfer it tells about. */
  readonly transferStatus: number
  readonly referenceId: string
  readonly status: 'waiting' | 'delivered' | 'parked'
  /** Failed attempts since it was recorded or requeued. */
  readonly attempts: number
  /** When the next attempt is due, while it waits (though its lane may hold an earlier one). */
  readonly dueAt?: string
  /** When it was given up, while it is parked. */
  readonly parkedAt?: string
  /** Why the last attempt failed. */
  readonly lastFailure: string | null
  /** What the endpoint answered last; null when no answer came or none was asked for yet. */
  readonly lastHttpStatus: number | null
  readonly recordedAt: string
  readonly updatedAt: string
  /** Of the callback stream's event this document has come to. */
  readonly revision: number
}

/**
 * How many transfers of a merchant and kind reached a status on a day, and their amounts: a transfer that was completed on
 * the day it was created counts in Pending and in Completed. `_id` is {@link totalId}.
 */
export interface TotalDocument extends Document {
  readonly merchantId: string
  readonly kind: TransferKind
  readonly status: Status
  /** `2026-11-21`, UTC. */
  readonly day: string
  readonly count: number
  /** Requested. */
  readonly amountMinor: number
  /** Really transferred. */
  readonly transactionAmountMinor: number
  /** The last event counted, see {@link sortablePosition}. */
  readonly position: number
}

/**
 * Where an event of a transfer is found; `_id` is {@link feedId}, so a merchant's feed is a range of `_id`. What it says is in
 * the log: to repeat it here would make this the largest collection of all.
 */
export interface TransferEventDocument extends Document {
  readonly trackingId: string
  readonly revision: number
  /** The place in the global order as the API prints it (`formatPosition`): what `after` takes. */
  readonly position: string
}

/** An event that cannot be read; `_id` is {@link problemId}. Nothing of its data. */
export interface ProblemDocument extends Document {
  readonly stream: string
  readonly revision: number
  /** A sentence. */
  readonly reason: string
  readonly recordedAt: string
  /** How its stream's name begins, while nobody has decided to pass over it. */
  readonly openKind?: string
  /** When that was decided. */
  readonly passedOverAt?: string
}

/** How far a projection has come; `_id` is its name. Written after what it covers, never before. */
export interface CheckpointDocument extends Document {
  /** Of the projection's code that built the documents. */
  readonly version: number
  /** `formatPosition`; absent when nothing was looked at yet. */
  readonly position?: string
  /**
   * The last event it applied, and where it stood; absent when there was none. Another log, or the same one copied to another
   * engine, has it somewhere else or not at all: then `position` means nothing there.
   */
  readonly lastEvent?: { readonly stream: string; readonly revision: number; readonly position: string }
  /** Of the lease under which it was written: a holder that lost its lease must not turn it back. */
  readonly leaseToken: number
  /** When the last event it applied was recorded, milliseconds since the epoch. */
  readonly lastEventAtMs: number | null
  readonly updatedAt: string
  /** Set when an event could not be applied; it stays where it is until it is repaired. */
  readonly failure?: {
    readonly position?: string
    readonly stream?: string
    readonly revision?: number
    readonly reason: string
    readonly at: string
  }
}

/** A rebuild that is asked for, runs or has ended; `_id` is the projection's name. */
export interface RebuildDocument extends Document {
  /** Of this request; a new request has another. */
  readonly requestId: string
  readonly state: 'requested' | 'running' | 'done' | 'failed'
  readonly requestedAt: string
  /** What the new documents have come to. */
  readonly position?: string
  /** The end of the log as the rebuild began. */
  readonly end?: string
  readonly reason?: string
  readonly updatedAt: string
}

export const collections = {
  transfers: 'transfers',
  callbacks: 'callbacks',
  totals: 'totals',
  transferEvents: 'transfer_events',
  problems: 'problems',
  checkpoints: 'checkpoints',
  rebuilds: 'rebuilds',
  /** How far the recovery of payments has come: one document. */
  paymentRecovery: 'payment_recovery',
} as const

/**
 * As few as the queries need: each costs every write. Lists are read as ranges of kind and status (see src/queries), of one merchant
 * or of all; a referenceId is found by its trackingId, which derives from it.
 */
export const indexes = {
  transfers: [
    { key: { merchantId: 1, kind: 1, status: 1, createdAt: -1, _id: -1 } },
    { key: { kind: 1, status: 1, createdAt: -1, _id: -1 } },
    { key: { openUntil: 1 } },
    { key: { attention: 1, createdAt: -1, _id: -1 } },
  ],
  callbacks: [
    { key: { merchantId: 1, dueAt: 1, _id: 1 } },
    { key: { merchantId: 1, status: 1, recordedAt: -1, _id: -1 } },
    { key: { status: 1, recordedAt: -1, _id: -1 } },
  ],
  totals: [{ key: { merchantId: 1, day: 1, kind: 1, status: 1 } }],
  transferEvents: [],
  problems: [{ key: { openKind: 1 } }],
  checkpoints: [],
  rebuilds: [],
  paymentRecovery: [],
} as const satisfies { readonly [name in keyof typeof collections]: readonly Index[] }

const maxIdStream = 512

/** The name of a stream may be longer than an id; one of ours never is. */
export function problemId(stream: string, revision: number): string {
  return `${stream.slice(0, maxIdStream)}@${revision}`
}

export function totalId(merchantId: string, kind: TransferKind, status: Status, day: string): string {
  return `${merchantId}|${kind}|${status}|${day}`
}

/**
 * The global order as one number, which SQLite and MongoDB order alike; EventStoreDB's commit positions are bytes of its
 * log, and 2^53 of them are 9 petabytes. @throws RangeError beyond that
 */
export function sortablePosition(position: { readonly commit: bigint }): number {
  if (position.commit > BigInt(Number.MAX_SAFE_INTEGER))
    throw new RangeError(`position ${position.commit} is too large`)
  return Number(position.commit)
}

const positionDigits = 16

/** `<merchantId>|<position, zero-padded>`. */
export function feedId(merchantId: string, position: { readonly commit: bigint }): string {
  return `${merchantId}|${String(sortablePosition(position)).padStart(positionDigits, '0')}`
}

/** The events of a merchant's feed behind a position, oldest first with {@link feedOrder}; from the start when absent. */
export function feedAfter(merchantId: string, after?: { readonly commit: bigint }): Filter {
  // '|' is followed by digits only, and '~' sorts behind them all.
  return { _id: { $gt: after ? feedId(merchantId, after) : `${merchantId}|`, $lt: `${merchantId}|~` } }
}

export const feedOrder: Sort = { _id: 1 }
