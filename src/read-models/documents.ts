import type { KnownPayment, PaymentStatus, PaymentUse, RecordedPayment } from '../domain/bank/bank-entries.js'
import { type Payee, payeeFields, type Requested, requestedFields } from '../domain/transfer/requested-fields.js'
import { statusCodes } from '../domain/transfer/status.js'
import type {
  Approval,
  Corrected,
  Counted,
  Deposit,
  Funds,
  MatchedPayment,
  Payment,
  Payout,
  PayoutReturn,
  ProposedCorrection,
  Refund,
  Rejection,
  Repayment,
  Transfer,
  Withdrawal,
} from '../domain/transfer/transfer.js'
import type { CancelReason, DepositChannel, TransferKind } from '../domain/transfer/transfer-events.js'
import type { TProperties } from '../kernel/typebox.js'
import { type Declaration, ordinalText } from './fields.js'
import type { Document, FieldType, Filter, Index, Sort } from './read-models.js'
import { searchedFields, transferWords } from './transfer-words.js'
import { type Words, wordsField } from './word-search.js'

/**
 * The documents of read models, with the types and the indexes of their collections. Amounts are whole minor units, and times are ISO 8601
 * in UTC with milliseconds. An absent field does not apply now; an index on it contains only the documents that have it. Documents that projections keep
 * are disposable: they serve lists and feeds, while the state of one transfer is folded from the log.
 */

type CommonField = Exclude<
  keyof Deposit & keyof Withdrawal,
  'trackingId' | 'kind' | 'amountMinor' | 'transactionAmountMinor' | keyof Requested
>

/** Null, empty or 0 in the domain while it has no value. */
type Optional =
  | ('receiptUrl' | 'message' | 'completedAt' | 'corrections' | 'proposals' | 'proposedCorrection')
  | 'bankPayments'

/** One transfer; `_id` is its trackingId. A field is absent while it has no value. */
export interface TransferDocument
  extends Document,
    Omit<Pick<Transfer, CommonField>, Optional>,
    Stored<Requested>,
    Partial<Stored<Payee>> {
  /** Where it was created, as {@link sortablePosition}. Transfers that were created at the same time are listed in this order. */
  readonly position: number
  readonly receiptUrl?: string
  readonly message?: string
  readonly kind: TransferKind
  readonly amountMinor: number
  readonly transactionAmountMinor: number
  /** Absent before the completion. */
  readonly completedAt?: string
  readonly corrections?: readonly CorrectedOf<number>[]
  readonly proposals?: number
  readonly proposedCorrection?: ProposalOf<number>
  readonly bankPayments?: readonly MatchedPaymentOf<number>[]
  // Deposits only.
  readonly channel?: DepositChannel
  readonly expiresAt?: string
  /** Absent if it equals `expiresAt`. */
  readonly firstExpiresAt?: string
  readonly funds?: FundsOf<number>
  readonly autoCancelledAmountMinor?: number
  readonly cancelReason?: CancelReason
  readonly reopened?: true
  readonly refunds?: readonly RefundOf<number>[]
  // Withdrawals only.
  readonly refundOf?: string
  readonly repaymentOf?: string
  readonly repayments?: readonly RepaymentOf<number>[]
  readonly payout?: PayoutOf<number>
  /** The ids of the bank files that contain it, with spaces between them: an index serves a field without structure only. */
  readonly bankFiles?: string
  readonly returns?: readonly PayoutReturnOf<number>[]
  readonly resolvedMinor?: number
  readonly rejection?: Rejection
  /** The part of the received money that arrived after the deposit had ended. */
  readonly lateMinor?: number
  /** Equals `expiresAt` while the deposit is Pending. */
  readonly openUntil?: string
  /** Present while a refund or a repayment is open. */
  readonly openPayouts?: true
  /** Its kind while it needs a decision. */
  readonly attention?: TransferKind
  /** Its kind and merchant ({@link attentionKey}) while it needs a decision. */
  readonly attentionOf?: string
  /** The revision of the last applied event of its stream. */
  readonly revision: number
}

export const attentionKey = (kind: TransferKind, merchantId: string): string => `${kind} ${merchantId}`

/** The fields of a declaration. An object is stored as JSON text. */
export type Stored<Fields> = {
  readonly [Name in keyof Fields]: Exclude<Fields[Name], null> extends object | undefined
    ? string
    : Exclude<Fields[Name], null>
}

/** The domain's `Funds`; a document has numbers. */
export interface FundsOf<Amount> extends Readonly<Record<Exclude<keyof Funds, 'payments' | 'returns'>, Amount>> {
  readonly payments: readonly (Omit<Payment, 'amountMinor'> & { readonly amountMinor: Amount })[]
  readonly returns: readonly { readonly amountMinor: Amount; readonly receiptUrl: string | null }[]
}

/** The domain's `Repayment`; a document has numbers. */
export type RepaymentOf<Amount> = Omit<Repayment, 'amountMinor'> & { readonly amountMinor: Amount }

/** The domain's `Refund`; a document has numbers. */
export type RefundOf<Amount> = Omit<Refund, 'amountMinor'> & { readonly amountMinor: Amount }

/** The domain's `Corrected`; a document has numbers. */
export interface CorrectedOf<Amount> extends Omit<Corrected, 'amountMinor' | 'fromMinor'> {
  readonly amountMinor: Amount
  readonly fromMinor: Amount
}

/** The domain's `ProposedCorrection`; a document has numbers. */
export type ProposalOf<Amount> = Omit<ProposedCorrection, 'amountMinor'> & { readonly amountMinor: Amount }

/** The domain's `Payout`; a document has numbers. */
export interface PayoutOf<Amount> extends Omit<Payout, 'approval'> {
  readonly approval: (Omit<Approval, 'amountMinor'> & { readonly amountMinor: Amount }) | null
}

/** The domain's `MatchedPayment`; a document has numbers. */
export type MatchedPaymentOf<Amount> = Omit<MatchedPayment, 'amountMinor'> & { readonly amountMinor: Amount }

/** The domain's `PayoutReturn`; a document has numbers. */
export type PayoutReturnOf<Amount> = Omit<PayoutReturn, 'amountMinor'> & { readonly amountMinor: Amount }

/** One callback of one transfer; `_id` is its webhookId, which is the id of the transfer's event. */
export interface CallbackDocument extends Document {
  /** Where it was recorded, as {@link sortablePosition}. */
  readonly position: number
  readonly merchantId: string
  readonly trackingId: string
  readonly transferRevision: number
  /** The transfer status that it reports, 1 to 5. */
  readonly transferStatus: number
  readonly referenceId: string
  readonly status: 'waiting' | 'delivered' | 'parked'
  /** The failed attempts since it was recorded or requeued. */
  readonly attempts: number
  /** The time of the next attempt while it waits, unless an earlier callback of its lane is still waiting. */
  readonly dueAt?: string
  /** The time at which the wait for the next attempt began, while it waits. A time in the future is from before the clock was set back. */
  readonly dueSince?: string
  /** The time at which it was parked, while it is parked. */
  readonly parkedAt?: string
  /** Why the last attempt failed. Absent after a success, so that the document of a delivered callback needs no JSON in SQLite. */
  readonly lastFailure?: string
  readonly recordedAt: string
  /** The revision of the last applied event of the callback stream. */
  readonly revision: number
}

/**
 * How often something happened to a merchant's transfers of one kind within a quarter of an hour, a day or a month, and their amounts. A
 * transfer that was created and completed in the same period counts under both Pending and Completed. `_id` is {@link totalId}.
 */
export interface TotalDocument extends Document {
  readonly kind: TransferKind
  readonly counted: Counted
  readonly count: number
  /** The sums of the domain's figures. They are decimal digits, because numbers are exact only below 2^53. */
  readonly amountMinor: string
  readonly transactionAmountMinor: string
  readonly receivedMinor: string
  /** The last counted event, as {@link sortablePosition}. */
  readonly position: number
}

/**
 * Where an event of a transfer is stored; `_id` is {@link feedId}. The event itself stays in the log: copying it here would make this the
 * largest collection.
 */
export interface TransferEventDocument extends Document {
  readonly merchantId: string
  readonly trackingId: string
  readonly revision: number
  /** The digits of its `prepare` position, if that differs from the commit position, which is the `_id`. */
  readonly prepare?: string
}

/** One payment of a bank's statement; `_id` is its paymentId. */
export interface BankPaymentDocument extends Document {
  /** Where it was recorded, as {@link sortablePosition}. */
  readonly position: number
  readonly accountId: string
  /** The start of the day on which it was booked. */
  readonly bookedAt: string
  readonly recordedAt: string
  readonly status: PaymentStatus
  /** Its account while it is open, or while a transfer has not recorded it yet. */
  readonly openOf?: string
  /** Present while a transfer has not recorded it yet. */
  readonly applying?: true
  /** When it was assigned to that transfer. */
  readonly assignedAt?: string
  /** The counterparty. */
  readonly personId: string
  readonly payment: Omit<RecordedPayment, 'bookedAmountMinor' | 'paidAmountMinor'> & {
    readonly bookedAmountMinor: number
    readonly paidAmountMinor: number
  }
  readonly uses: readonly (Omit<PaymentUse, 'amountMinor'> & { readonly amountMinor: number })[]
  readonly explained?: NonNullable<KnownPayment['explained']>
  readonly isSuperseded?: boolean
  readonly isErased?: boolean
  /** The revision of the last applied event of its stream. */
  readonly revision: number
}

/**
 * The sums of the payments of one account and day in decimal digits: `booked` is the sum of the others and of the payments that are assigned to
 * a transfer which has not recorded them yet.
 */
export type BankSums = Readonly<Record<'booked' | 'open' | 'completed' | 'received' | 'returned' | 'explained', string>>

/** The sums that an account booked on one day; `_id` is the account and the day. */
export interface BankDayDocument extends Document {
  readonly accountId: string
  /** The start of the day. */
  readonly bookedAt: string
  /** The sum of the withdrawals in the bank files of the day. */
  readonly files: string
  readonly credit: BankSums
  readonly debit: BankSums
  /** The last applied event, as {@link sortablePosition}. */
  readonly position: number
}

/** An account of which a statement was imported; `_id` is its accountId. */
export interface BankAccountDocument extends Document {
  /** The merchants whose transfers it pays and receives; null for all. */
  readonly merchantIds: readonly string[] | null
  readonly revision: number
}

/** An unreadable event without any of its data; `_id` is {@link problemId}. */
export interface ProblemDocument extends Document, Place {
  /** A sentence. */
  readonly reason: string
  readonly recordedAt: string
  /** The prefix of its stream's name, unless the event is skipped. */
  readonly openKind?: string
  readonly skippedAt?: string
}

interface Place {
  readonly stream: string
  readonly revision: number
}

/** How far a collection has followed the log. */
export interface Progress {
  /** The last examined position (`formatPosition`); absent before the first page. */
  readonly position?: string
  /**
   * The last applied event. Another log, or a copy of this log in another engine, has a different event or none at its position; then
   * `position` means nothing in that log.
   */
  readonly lastEvent?: Place & { readonly position: string; readonly recordedAtMs: number }
}

/** One build of a projection's documents. Its documents contain at least the events up to its progress. */
export interface ProjectionBuild {
  /** As `buildName` returns it. */
  readonly collection: string
  readonly version: number
  readonly progress: Progress
  /** When it was built or last switched. */
  readonly at: string
  readonly comparison?: ComparisonDocument
}

/** The pointer of a projection to its builds; `_id` is the projection's name. Only the holder of the projection's lease writes it. */
export interface PointerDocument extends Document {
  /** The build that readers see. */
  readonly served: ProjectionBuild
  readonly built?: ProjectionBuild
  readonly previous?: ProjectionBuild
  /** The error at which the projection is stopped. */
  readonly failure?: Partial<Place> & {
    readonly position?: string
    readonly reason: string
    readonly at: string
    /** The action that resumes the projection, if an event is the cause. */
    readonly remedy?: 'skip' | 'rebuild'
  }
  readonly task?: TaskRecord
  /** The token of the writer's lease: a holder that lost its lease has a smaller one and must not write. */
  readonly leaseToken: number
  readonly updatedAt: string
}

/** Two builds, compared at the same position; `differences` names the first differing documents. */
export interface ComparisonDocument {
  readonly at: string
  readonly position: string | null
  readonly compared: number
  readonly differing: number
  readonly differences: readonly string[]
}

/** The last request for work on a projection; `_id` is the projection's name. Operators write it, and delete it to cancel the task. */
export interface RequestDocument extends Document {
  readonly requestId: string
  readonly what: 'rebuild' | 'verify' | 'switch' | 'rollback'
  /** On a rebuild: the build waits for a switch. */
  readonly keep?: boolean
  readonly by: string
  readonly requestedAt: string
}

/** The progress and the outcome of a requested task, with the position that the build has reached and the one that it must reach. */
export interface TaskRecord extends Pick<RequestDocument, 'requestId' | 'what' | 'keep' | 'by' | 'requestedAt'> {
  readonly state: 'running' | 'done' | 'failed'
  readonly updatedAt: string
  readonly phase?: 'building' | 'merging' | 'comparing' | 'switching'
  /** The task has changed the builds, and only its cleanup is left. */
  readonly isConcluded?: true
  /** How many holders died in a row without making progress. */
  readonly interruptions?: number
  /** The unfinished build, from which another process can resume. */
  readonly build?: Pick<ProjectionBuild, 'collection' | 'version' | 'progress'>
  /** Includes documents that are not written yet. */
  readonly reached?: string
  readonly end?: string
  readonly eventsPerSecond?: number
  readonly secondsLeft?: number
  readonly comparison?: ComparisonDocument
  readonly reason?: string
}

export interface PauseDocument extends Document {
  readonly at: string
  readonly by: string
  readonly reason: string | null
}

export function pauseId(projection: string): string {
  return `${projection}/pause`
}

const projected = {
  transfers: 'transfers',
  callbacks: 'callbacks',
  totals: 'totals',
  transferEvents: 'transfer_events',
  problems: 'problems',
  bankPayments: 'bank_payments',
  bankDays: 'bank_days',
  bankAccounts: 'bank_accounts',
} as const

/** The collections that projections keep. Each name stands for the build that the projection's pointer names. */
export const projectedCollections: ReadonlySet<string> = new Set(Object.values(projected))

export const collections = {
  ...projected,
  pointers: 'projections',
  projectionRequests: 'projection_requests',
  /** The checkpoints of the followers that act on events (subscriptions/checkpoint.ts). */
  checkpoints: 'checkpoints',
  /** The state of the log's tree, as its holder reports it. */
  integrity: 'integrity',
  /** Uploaded files. No log contains them, so they cannot be rebuilt (docs/operating/backup.md). */
  receipts: 'receipts',
} as const

/** Separates the name of a collection from that of its build. */
export const buildMark = '@'

const kinds: readonly TransferKind[] = ['deposit', 'withdrawal']

function typesOf(fields: TProperties): { readonly [field: string]: FieldType } {
  return Object.fromEntries(
    Object.entries(fields).map(([name, { type }]) => [name, type === 'integer' ? 'number' : 'text']),
  )
}

const declarations: { readonly [collection: string]: Declaration } = {
  [projected.transfers]: {
    order: 'position',
    fields: {
      _id: 'uuid',
      position: 'number',
      merchantId: 'keyword',
      kind: kinds,
      // The numbers of the specification.
      status: Object.keys(statusCodes),
      referenceId: 'text',
      amountMinor: 'number',
      transactionAmountMinor: 'number',
      hasAmountMismatch: 'boolean',
      receiptUrl: 'text',
      message: 'text',
      ...typesOf(requestedFields),
      ...typesOf(payeeFields),
      bankFiles: 'text',
      channel: ['hosted', 'native'],
      expiresAt: 'time',
      openUntil: 'time',
      openPayouts: 'boolean',
      refundOf: 'uuid',
      repaymentOf: 'uuid',
      attention: ['deposit', 'withdrawal'],
      attentionOf: 'keyword',
      createdAt: 'time',
      updatedAt: 'time',
      completedAt: 'time',
      revision: 'number',
    },
  },
  [projected.callbacks]: {
    order: 'position',
    fields: {
      _id: 'uuid',
      position: 'number',
      merchantId: 'keyword',
      trackingId: 'uuid',
      transferRevision: 'number',
      transferStatus: 'number',
      referenceId: 'text',
      status: ['waiting', 'delivered', 'parked'],
      attempts: 'number',
      dueAt: 'time',
      dueSince: 'time',
      parkedAt: 'time',
      lastFailure: 'text',
      recordedAt: 'time',
      revision: 'number',
    },
  },
  [projected.transferEvents]: {
    order: '_id',
    fields: { _id: 'ordinal', merchantId: 'keyword', trackingId: 'uuid', revision: 'number', prepare: 'text' },
  },
}

/** Returns the types of the fields of a collection or of its build; `undefined` if none are declared. */
export function declarationOf(collection: string): Declaration | undefined {
  return declarations[collection.split(buildMark, 1)[0]!]
}

const words: { readonly [collection: string]: Words } = {
  [projected.transfers]: {
    of: (document) => transferWords(document as TransferDocument),
    from: [...searchedFields, 'metadata'],
    equal: ['merchantId', 'kind', 'paymentMethod'],
  },
}

/** Returns how the documents of a collection or of its build are found by words; `undefined` if they are not. */
export function wordsOf(collection: string): Words | undefined {
  return words[collection.split(buildMark, 1)[0]!]
}

/**
 * Only the indexes that the queries need, because each index slows down every write. Queries (src/queries) read lists as
 * ranges of kind and status, for one merchant or for all. A referenceId needs no index: its transfer is found by the trackingId, which derives from it.
 */
export const indexes = {
  transfers: [
    { key: { merchantId: 1, kind: 1, status: 1, createdAt: -1, position: -1 } },
    { key: { kind: 1, status: 1, createdAt: -1, position: -1 } },
    { key: { openUntil: 1 }, having: 'openUntil' },
    { key: { openPayouts: 1, position: 1 }, having: 'openPayouts' },
    { key: { attention: 1, createdAt: -1, position: -1 }, having: 'attention' },
    { key: { attentionOf: 1, createdAt: -1, position: -1 }, having: 'attentionOf' },
    { key: { merchantId: 1, kind: 1, status: 1, amountMinor: -1, position: -1 } },
    { key: { [wordsField]: 1 } },
  ],
  callbacks: [
    { key: { merchantId: 1, dueAt: 1, position: 1 }, having: 'dueAt' },
    { key: { merchantId: 1, dueSince: 1, position: 1 }, having: 'dueSince' },
    { key: { merchantId: 1, status: 1, recordedAt: -1, position: -1 } },
    { key: { status: 1, recordedAt: -1, position: -1 } },
  ],
  totals: [],
  transferEvents: [{ key: { merchantId: 1, _id: 1 } }],
  problems: [{ key: { openKind: 1 } }],
  bankPayments: [
    { key: { accountId: 1, bookedAt: -1, position: -1 } },
    { key: { openOf: 1, bookedAt: -1, position: -1 }, having: 'openOf' },
    { key: { openOf: 1, recordedAt: 1 }, having: 'openOf' },
    { key: { applying: 1, position: 1 }, having: 'applying' },
    { key: { personId: 1, position: 1 } },
  ],
  bankDays: [{ key: { accountId: 1, bookedAt: -1, position: -1 } }],
  receipts: [{ key: { storedAt: 1, _id: 1 } }],
} as const satisfies { readonly [name in keyof typeof collections]?: readonly Index[] }

const maxIdStream = 512

/** Returns the `_id` of a problem. Foreign stream names can be longer than an `_id`; the service's own names are not. */
export function problemId(stream: string, revision: number): string {
  return `${stream.slice(0, maxIdStream)}@${revision}`
}

/** The owner of the totals over all merchants. */
export const allMerchants = '*'

/**
 * The lengths of ISO 8601 prefixes: `2026-11-21T14:45`, `2026-11-21`, `2026-11`. All time zones begin their days at a quarter of an hour
 * in UTC. Quarters replace hours instead of adding to them, because each period is a document that every event changes.
 */
export const totalPeriods = { quarter: 16, day: 10, month: 7 } as const

/** Returns the period of a time: `2026-11-21T14:45`. */
export function quarterOf(at: string): string {
  const minute = Number(at.slice(totalPeriods.quarter - 2, totalPeriods.quarter))
  return at.slice(0, totalPeriods.quarter - 2) + (minute < 15 ? '00' : minute - (minute % 15))
}

/** Returns the `_id` of a total. The totals of one merchant and one kind of period are a range of `_id`, ordered by time. */
export function totalId(merchantId: string, period: string, kind: TransferKind, counted: Counted): string {
  return `${totalsPrefix(merchantId, period.length)}${period}|${kind}|${counted}`
}

export function totalsPrefix(merchantId: string, periodLength: number): string {
  return `${merchantId}|${periodLength}|`
}

/**
 * Returns a position as one number, which SQLite and MongoDB order alike. EventStoreDB's commit positions are bytes of its log, and 2^53
 * bytes are 9 petabytes. @throws RangeError above that
 */
export function sortablePosition(position: { readonly commit: bigint }): number {
  if (position.commit > BigInt(Number.MAX_SAFE_INTEGER))
    throw new RangeError(`position ${position.commit} is too large`)
  return Number(position.commit)
}

export function feedId(position: { readonly commit: bigint }): string {
  return ordinalText(sortablePosition(position))
}

/** Selects a merchant's events after a position, or all of them; {@link feedOrder} sorts them oldest first. */
export function feedAfter(merchantId: string, after?: { readonly commit: bigint }): Filter {
  return { merchantId, ...(after && { _id: { $gt: feedId(after) } }) }
}

export const feedOrder: Sort = { _id: 1 }
