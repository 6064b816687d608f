import type { Counted } from '../domain/transfer/figures.js'
import type { Approval, Claim } from '../domain/transfer/payout.js'
import type { Status } from '../domain/transfer/transfer.js'
import type { CancelReason, DepositChannel, TransferKind } from '../domain/transfer/transfer-events.js'
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
  /** Withdrawals only; absent while nobody has claimed or approved it. */
  readonly payout?: PayoutDocument
  readonly createdAt: string
  readonly updatedAt: string
  /** While it is Completed, which it stays. */
  readonly completedAt?: string
  /** The same as `expiresAt`, while the deposit is Pending. */
  readonly openUntil?: string
  /** While a person has to decide about its money. */
  readonly attention?: 'open'
  /** The merchant's id, while a person has to: with another name, so that SQLite mistakes no index for this one's. */
  readonly attentionOf?: string
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

/** See the domain's `Payout`. */
export interface PayoutDocument {
  readonly claim: Claim | null
  readonly claimants: readonly string[]
  readonly approval: (Omit<Approval, 'amountMinor'> & { readonly amountMinor: number }) | null
  readonly steps: number
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
 * How often something happened to transfers of a merchant and kind within an hour, a day or a month, and their amounts: a transfer
 * that was completed in the hour it was created in counts in Pending and in Completed. `_id` is {@link totalId}.
 */
export interface TotalDocument extends Document {
  readonly kind: TransferKind
  readonly counted: Counted
  readonly count: number
  /** Requested; of what was returned, that. */
  readonly amountMinor: number
  /** Really transferred. */
  readonly transactionAmountMinor: number
  /** The last event counted, see {@link sortablePosition}. */
  readonly position: number
}

/** That a transfer is found by a term: `_id` says which and when (see transfer-terms.ts). */
export interface TransferTermDocument extends Document {
  /** Of a payment method's term: the transfer's other terms that say something of the customer. */
  readonly personal?: readonly string[]
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
  /** How its stream's name begins, while no one has decided to skip it. */
  readonly openKind?: string
  /** When that was decided. */
  readonly skippedAt?: string
}

/** How far documents have come. */
export interface Place {
  /** `formatPosition`; absent when nothing was looked at yet. */
  readonly position?: string
  /**
   * The last event that was applied, and where it stood; absent when there was none. Another log, or the same one copied to another
   * engine, has it somewhere else or not at all: then `position` means nothing there.
   */
  readonly lastEvent?: { readonly stream: string; readonly revision: number; readonly position: string }
  /** When that was recorded, milliseconds since the epoch. */
  readonly lastEventAtMs: number | null
}

/** How far a projection has come; `_id` is its name. Written after what it covers, never before. */
export interface CheckpointDocument extends Document, Place {
  /** Of the projection's code that built the documents. */
  readonly version: number
  /** Of the lease under which it was written: a holder that lost its lease must not turn it back. */
  readonly leaseToken: number
  readonly updatedAt: string
  /** Set when an event could not be applied; it stays where it is until it is repaired. */
  readonly failure?: {
    readonly position?: string
    readonly stream?: string
    readonly revision?: number
    readonly reason: string
    readonly at: string
  }
  /** Documents that wait to be switched to. */
  readonly built?: StandbyDocuments
  /** Documents that were in use before. */
  readonly previous?: StandbyDocuments
}

/** Documents beside those in use, of the same projection and version. Their place is where they are at least. */
export interface StandbyDocuments extends Place {
  readonly version: number
  readonly at: string
  /** With those in use, last. */
  readonly comparison?: ComparisonDocument
}

/** Two versions of documents, compared at the same position. */
export interface ComparisonDocument {
  readonly at: string
  readonly position: string | null
  readonly compared: number
  readonly differing: number
  /** Ids of the first of them. */
  readonly differences: readonly string[]
}

/** What was asked of whoever runs a projection, last; `_id` is the projection's name. */
export interface TaskDocument extends Document {
  /** Of this request; a new request has another. */
  readonly requestId: string
  readonly what: 'rebuild' | 'verify' | 'switch' | 'rollback'
  readonly state: 'requested' | 'running' | 'cancelling' | 'done' | 'failed'
  /** Of a rebuild: what was built waits for a switch. */
  readonly keep?: boolean
  readonly by: string
  readonly requestedAt: string
  readonly updatedAt: string
  readonly phase?: 'building' | 'comparing' | 'switching'
  /** Of whoever works on it. */
  readonly leaseToken?: number
  /** How often that one died without having come any further. */
  readonly interruptions?: number
  /** What it is about; its place is how far that has come, so that another can go on. */
  readonly beside?: Place & { readonly collection: string; readonly version: number }
  /** What the new documents have come to, not all of it written. */
  readonly reached?: string
  /** What they have to come to. */
  readonly end?: string
  readonly eventsPerSecond?: number
  readonly secondsLeft?: number
  readonly comparison?: ComparisonDocument
  readonly reason?: string
}

/** A projection that a person has paused; `_id` is {@link pauseId}. */
export interface PauseDocument extends Document {
  readonly at: string
  readonly by: string
  readonly reason: string | null
}

export function pauseId(projection: string): string {
  return `${projection}/pause`
}

export const collections = {
  transferTerms: 'transfer_terms',
  transfers: 'transfers',
  callbacks: 'callbacks',
  totals: 'totals',
  transferEvents: 'transfer_events',
  problems: 'problems',
  checkpoints: 'checkpoints',
  /** What is asked of projections: tasks and pauses. */
  projectionTasks: 'projection_tasks',
  /** How far the recovery of payments has come: one document. */
  paymentRecovery: 'payment_recovery',
  /** What the holder of the log's tree tells of it. */
  integrity: 'integrity',
  /** Files that people uploaded: in no log, so nothing builds them anew (docs/operating/backup.md). */
  receipts: 'receipts',
} as const

/**
 * As few as the queries need: each costs every write. Lists are read as ranges of kind and status (see src/queries), of one merchant
 * or of all; a referenceId is found by its trackingId, which derives from it.
 */
export const indexes = {
  transfers: [
    { key: { merchantId: 1, kind: 1, status: 1, createdAt: -1, _id: -1 } },
    { key: { kind: 1, status: 1, createdAt: -1, _id: -1 } },
    { key: { openUntil: 1 }, having: 'openUntil' },
    { key: { attention: 1, createdAt: -1, _id: -1 }, having: 'attention' },
    { key: { attentionOf: 1, createdAt: -1, _id: -1 }, having: 'attentionOf' },
    { key: { merchantId: 1, kind: 1, status: 1, amountMinor: -1, _id: -1 } },
  ],
  transferTerms: [],
  callbacks: [
    { key: { merchantId: 1, dueAt: 1, _id: 1 }, having: 'dueAt' },
    { key: { merchantId: 1, status: 1, recordedAt: -1, _id: -1 } },
    { key: { status: 1, recordedAt: -1, _id: -1 } },
  ],
  totals: [],
  transferEvents: [],
  problems: [{ key: { openKind: 1 } }],
  checkpoints: [],
  projectionTasks: [],
  paymentRecovery: [],
  integrity: [],
  receipts: [{ key: { storedAt: 1, _id: 1 } }],
} as const satisfies { readonly [name in keyof typeof collections]: readonly Index[] }

const maxIdStream = 512

/** The name of a stream may be longer than an id; one of ours never is. */
export function problemId(stream: string, revision: number): string {
  return `${stream.slice(0, maxIdStream)}@${revision}`
}

/** What totals are kept of beside each merchant. */
export const allMerchants = '*'

/** Lengths of ISO 8601 times: `2026-11-21T14`, `2026-11-21`, `2026-11`. */
export const totalPeriods = { hour: 13, day: 10, month: 7 } as const

/** `<merchantId>|<hour, day or month>|…`: those of one merchant and one kind of period are a range of `_id`, in order of time. */
export function totalId(merchantId: string, period: string, kind: TransferKind, counted: Counted): string {
  return `${totalsOf(merchantId, period.length)}${period}|${kind}|${counted}`
}

/** How the ids begin of the totals of periods that are written this long. */
export function totalsOf(merchantId: string, periodLength: number): string {
  return `${merchantId}|${periodLength}|`
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
