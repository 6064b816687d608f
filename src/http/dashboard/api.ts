import type { Static, TSchema } from '@sinclair/typebox'
import { type Status, statusCodes } from '../../domain/transfer/transfer.js'
import type { TransferKind } from '../../domain/transfer/transfer-events.js'
import { type Permission, permissions, type Role, roles } from '../../domain/user/permissions.js'
import { Type } from '../../kernel/typebox.js'

/**
 * What the dashboard's pages and the server say to one another, under `/dashboard/api`. The pages import the types alone. Amounts are
 * hundredths of the service's currency, whatever decimals it has (fields end in `Minor`), times ISO 8601 in UTC with milliseconds. What is refused is
 * answered with the envelope of the merchant API.
 */

const OneOf = <const Values extends readonly string[]>(values: Values) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values] })
const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const Text = Type.String()
const Time = Type.String()
const Minor = Type.Integer()
const Kind = OneOf<readonly TransferKind[]>(['deposit', 'withdrawal'])
const StatusName = OneOf(Object.keys(statusCodes) as Status[])
const RoleName = OneOf<readonly Role[]>(roles)
const PermissionName = OneOf(Object.keys(permissions) as Permission[])
const Page = <Item extends TSchema>(item: Item) => Type.Object({ items: Type.Array(item), nextCursor: Nullable(Text) })

// ── People ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const SignInRequest = Type.Object({
  email: Type.String({ minLength: 1, maxLength: 254 }),
  password: Type.String({ minLength: 1, maxLength: 256 }),
  /** Six digits; asked for by the refusal `second-factor-needed`. */
  code: Type.Optional(Type.String({ pattern: '^[0-9]{6}$' })),
})
/** Proves again who sits there: for what needs a recent sign-in. */
export const ConfirmRequest = Type.Omit(SignInRequest, ['email'])
export const ChangePasswordRequest = Type.Object({
  current: Type.String({ minLength: 1, maxLength: 256 }),
  next: Type.String({ minLength: 12, maxLength: 256 }),
})

/** Who is signed in, and what the pages need to know from the start. */
export const SessionAnswer = Type.Object({
  user: Type.Object({
    userId: Text,
    email: Text,
    name: Text,
    role: RoleName,
    /** Null: all merchants. */
    merchantIds: Nullable(Type.Array(Text)),
    hasSecondFactor: Type.Boolean(),
  }),
  permissions: Type.Array(PermissionName),
  /** Sent back as `x-csrf-token` with every change. */
  csrfToken: Text,
  /** Nothing but a change of the password is answered before it. */
  mustChangePassword: Type.Boolean(),
  /** Until when the sign-in counts as recent. */
  recentUntil: Time,
  /** Those that the user may see. */
  merchants: Type.Array(Type.Object({ merchantId: Text, name: Text, sandbox: Type.Boolean() })),
  currency: Type.Object({ code: Text, digits: Type.Integer() }),
  paymentMethods: Type.Array(
    Type.Object({
      code: Type.Integer(),
      /** The name in each language of the pages. */
      names: Type.Object({ en: Text, tr: Text }),
      paidBy: OneOf(['wallet', 'manual']),
    }),
  ),
  /** There is no live merchant: what is shown may be made up. */
  sandbox: Type.Boolean(),
})

export const SessionItem = Type.Object({
  /** Names the session, and opens nothing. */
  sessionId: Text,
  current: Type.Boolean(),
  createdAt: Time,
  lastSeenAt: Time,
  expiresAt: Time,
  address: Text,
  userAgent: Text,
})
export const SessionsAnswer = Type.Object({ items: Type.Array(SessionItem) })

/** Shown once, while the second factor is set up. */
export const SecondFactorOffer = Type.Object({ secret: Text, uri: Text })
export const SecondFactorCode = Type.Object({ code: Type.String({ pattern: '^[0-9]{6}$' }) })

export const UserItem = Type.Object({
  userId: Text,
  email: Text,
  name: Text,
  role: RoleName,
  merchantIds: Nullable(Type.Array(Text)),
  disabled: Type.Boolean(),
  mustChangePassword: Type.Boolean(),
  hasSecondFactor: Type.Boolean(),
  createdAt: Time,
  lastSignInAt: Nullable(Time),
})
export const UsersAnswer = Type.Object({ items: Type.Array(UserItem) })
export const CreateUserRequest = Type.Object({
  email: Type.String({ minLength: 3, maxLength: 254 }),
  name: Type.String({ minLength: 1, maxLength: 128 }),
  role: RoleName,
  /** Needed for the roles of merchants, refused for the others. */
  merchantIds: Type.Optional(Type.Array(Text, { minItems: 1, maxItems: 100 })),
})
export const ChangeRoleRequest = Type.Pick(CreateUserRequest, ['role', 'merchantIds'])
/** The first password is shown once and must be changed at the first sign-in. */
export const IssuedPassword = Type.Object({ user: UserItem, password: Text })

// ── Transfers ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A query's values are text; `cursor` is `nextCursor` of the page before. */
export const TransfersQuery = Type.Object({
  kind: Type.Optional(Kind),
  status: Type.Optional(StatusName),
  merchantId: Type.Optional(Text),
  /** Created then or later; ISO 8601. */
  from: Type.Optional(Text),
  /** Created before. */
  to: Type.Optional(Text),
  /** Only those whose money a person has to decide about. */
  attention: Type.Optional(Type.Literal('open')),
  /** A code of the catalogue. */
  method: Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$' })),
  /** Minor units, inclusive. */
  minAmount: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })),
  maxAmount: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })),
  /** The beginning of a referenceId, trackingId, userId, name or account number. */
  text: Type.Optional(Type.String({ maxLength: 128 })),
  sort: Type.Optional(OneOf(['newest', 'oldest', 'largest', 'smallest'])),
  limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' })),
  cursor: Type.Optional(Type.String({ maxLength: 400 })),
})

export const ClaimView = Type.Object({
  /** Empty for a merchant's program. */
  userId: Text,
  /** Who claimed, as the viewer may know them. */
  name: Text,
  at: Time,
  /** It is free again then. */
  until: Time,
  mine: Type.Boolean(),
})

export const TransferRow = Type.Object({
  trackingId: Text,
  merchantId: Text,
  referenceId: Text,
  kind: Kind,
  status: StatusName,
  amountMinor: Minor,
  /** What really moved. */
  transactionAmountMinor: Minor,
  hasAmountMismatch: Type.Boolean(),
  needsAttention: Type.Boolean(),
  paymentMethod: Type.Integer(),
  userId: Text,
  name: Text,
  username: Text,
  /** Withdrawals only. */
  accountNumber: Nullable(Text),
  claim: Nullable(ClaimView),
  createdAt: Time,
  updatedAt: Time,
  /** Deposits only. */
  expiresAt: Nullable(Time),
  revision: Type.Integer(),
})
export const TransfersAnswer = Page(TransferRow)

export const transferActions = [
  'claim',
  'release',
  'approve',
  'complete',
  'cancel',
  'manual-control',
  'return',
  'resolve',
  'reopen',
] as const

/** One transfer, from the log: never behind. */
export const TransferDetail = Type.Intersect([
  TransferRow,
  Type.Object({
    channel: Nullable(Text),
    identityNumber: Nullable(Text),
    receiptUrl: Nullable(Text),
    message: Nullable(Text),
    receivedMinor: Minor,
    returnedMinor: Minor,
    resolvedMinor: Minor,
    /** Received and neither booked, returned nor resolved. */
    unsettledMinor: Minor,
    /** Withdrawals above the merchant's threshold. */
    approval: Type.Object({
      needed: Type.Boolean(),
      /** Of so much to its account; the latest. */
      by: Nullable(Type.Object({ userId: Text, name: Text, at: Time, amountMinor: Minor })),
    }),
    /** What the viewer may do to it now. */
    actions: Type.Array(OneOf(transferActions)),
    /** Why it can be neither claimed, approved nor completed, whoever looks at it: the log does not verify. */
    payoutsStopped: Type.Boolean(),
  }),
])

/** Every action carries the revision that its user saw: 409 `changed-meanwhile` when another event has come since. */
const Seen = { revision: Type.Integer({ minimum: 0 }) }
const Reason = Type.String({ minLength: 1, maxLength: 500 })
const Receipt = Type.String({ maxLength: 2048 })
const PositiveMinor = Type.Integer({ minimum: 1, maximum: 99_999_999_999_999 })

/** For claim and release. */
export const PlainAction = Type.Object(Seen)
/** Of another amount than requested where that much is to be paid. */
export const ApproveAction = Type.Object({ ...Seen, amountMinor: Type.Optional(PositiveMinor) })
export const CompleteAction = Type.Object({
  ...Seen,
  /** What was really paid; the expected amount when absent. */
  amountMinor: Type.Optional(PositiveMinor),
  /** The same once more, where the server says that it is unlikely. */
  confirmedAmountMinor: Type.Optional(PositiveMinor),
  receiptUrl: Type.Optional(Receipt),
  message: Type.Optional(Reason),
  reason: Type.Optional(Reason),
})
/** For cancel and manual-control: the merchant is told the message. */
export const MessageAction = Type.Object({ ...Seen, message: Reason })
/** For resolve and reopen. */
export const ReasonAction = Type.Object({ ...Seen, reason: Reason })
export const ReturnAction = Type.Object({ ...Seen, amountMinor: PositiveMinor, receiptUrl: Receipt })

/** Stopped while the log does not verify, for everybody who may see transfers: whoever pays must know why they cannot. */
export const PayoutsAnswer = Type.Object({ stopped: Type.Boolean() })

const BulkItem = Type.Object({ trackingId: Text, ...Seen, receiptUrl: Type.Optional(Receipt) })
/** Claims or completes withdrawals one after the other; each succeeds or fails by itself. */
export const BulkAction = Type.Object({ items: Type.Array(BulkItem, { minItems: 1, maxItems: 200 }) })
export const BulkAnswer = Type.Object({
  items: Type.Array(
    Type.Object({
      trackingId: Text,
      /** As it is now; null when it cannot be seen. */
      transfer: Nullable(TransferDetail),
      /** Null when it was done. */
      error: Nullable(Type.Object({ code: Type.Integer(), message: Text, details: Nullable(Text) })),
    }),
  ),
})
/** For withdrawals that the viewer has claimed. pain.001 takes those whose account is an IBAN, and is refused otherwise. */
export const BankFileRequest = Type.Object({
  format: OneOf(['csv', 'pain.001']),
  trackingIds: Type.Array(Text, { minItems: 1, maxItems: 200 }),
  /** Who pays; for pain.001. */
  debtor: Type.Optional(
    Type.Object({ name: Type.String({ minLength: 1, maxLength: 70 }), iban: Text, bic: Type.Optional(Text) }),
  ),
})
/** Of an uploaded file (PDF, PNG or JPEG, at most 5 MB, sent as the body with its content type). */
export const StoredReceipt = Type.Object({ receiptUrl: Text })

/** One thing that happened, from any of the transfer's streams. */
export const StoryItem = Type.Object({
  at: Time,
  source: OneOf(['transfer', 'payment', 'callback']),
  /** The event's type, such as TransferCompleted. */
  type: Text,
  /** The stream's revision. */
  revision: Type.Integer(),
  /** A person, a merchant's key, a part of the service. */
  actor: Text,
  correlationId: Text,
  /** The event's fields that are no secrets; amounts end in Minor. */
  data: Type.Record(Text, Type.Unknown()),
})
export const StoryAnswer = Type.Object({ items: Type.Array(StoryItem) })

// ── Callbacks ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const CallbacksQuery = Type.Object({
  merchantId: Type.Optional(Text),
  status: Type.Optional(OneOf(['waiting', 'delivered', 'parked'])),
  trackingId: Type.Optional(Text),
  limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' })),
  cursor: Type.Optional(Type.String({ maxLength: 400 })),
})
export const CallbackRow = Type.Object({
  webhookId: Text,
  trackingId: Text,
  merchantId: Text,
  referenceId: Text,
  transferStatus: StatusName,
  status: OneOf(['waiting', 'delivered', 'parked']),
  failedAttempts: Type.Integer(),
  recordedAt: Time,
  dueAt: Nullable(Time),
  lastFailure: Nullable(Text),
})
export const CallbacksAnswer = Page(CallbackRow)

/** A merchant's endpoint. */
export const EndpointItem = Type.Object({
  merchantId: Text,
  merchantName: Text,
  url: Text,
  state: OneOf(['answering', 'failing', 'disabled']),
  /** Why it is disabled. */
  reason: Nullable(Text),
  failingSince: Nullable(Time),
  /** At most 1000, which then means that many or more. */
  waiting: Type.Integer(),
  parked: Type.Integer(),
})
export const EndpointsAnswer = Type.Object({ items: Type.Array(EndpointItem) })

/** Some by name, or all of a merchant's that were parked since a time. */
export const ResendRequest = Type.Union([
  Type.Object({
    callbacks: Type.Array(Type.Object({ trackingId: Text, webhookId: Text }), { minItems: 1, maxItems: 200 }),
  }),
  Type.Object({ merchantId: Text, parkedSince: Time }),
])
/** One request takes up 1000 at most; while there are more, another one takes up the rest. */
export const ResendAnswer = Type.Object({ requeued: Type.Integer(), more: Type.Boolean() })
/** What the endpoint answered to a signed test event. */
export const TestAnswer = Type.Object({
  delivered: Type.Boolean(),
  httpStatus: Nullable(Type.Integer()),
  durationMs: Type.Integer(),
  failure: Nullable(Text),
})

// ── Merchants ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const MerchantSettingsView = Type.Object({
  name: Text,
  callbackUrl: Text,
  allowIps: Type.Array(Text),
  sandbox: Type.Boolean(),
  autoCancelMismatch: Type.Boolean(),
  mismatchToleranceMinor: Minor,
  manualControlAboveMinor: Nullable(Minor),
  /** Withdrawals above it need a second person. */
  approvalAboveMinor: Nullable(Minor),
  rateLimitPerSecond: Type.Integer(),
  depositExpiryMinutes: Type.Integer(),
  minAmountMinor: Minor,
  maxAmountMinor: Minor,
  requireNativeHash: Type.Boolean(),
  requireSignature: OneOf(['none', 'withdrawals', 'all']),
  callbackOnCreate: Type.Boolean(),
  returnUrl: Nullable(Text),
  frameAncestors: Type.Array(Text),
  paymentInstructions: Type.Array(Type.Object({ paymentMethod: Type.Integer(), text: Text })),
})
export const KeyItem = Type.Object({
  keyId: Text,
  name: Text,
  scopes: Type.Array(Text),
  createdAt: Time,
  validUntil: Nullable(Time),
})
export const MerchantItem = Type.Object({
  merchantId: Text,
  settings: MerchantSettingsView,
  keys: Type.Array(KeyItem),
  suspended: Type.Boolean(),
  callbacksDisabled: Nullable(Text),
  createdAt: Time,
})
export const MerchantsAnswer = Type.Object({ items: Type.Array(MerchantItem) })
export const CreateMerchantRequest = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 128 }),
  callbackUrl: Type.String({ minLength: 1, maxLength: 2048 }),
  allowIps: Type.Array(Text, { minItems: 1, maxItems: 1000 }),
  sandbox: Type.Optional(Type.Boolean()),
})
export const ChangeMerchantRequest = Type.Partial(Type.Omit(MerchantSettingsView, ['sandbox']))
/** Shown once. */
export const IssuedMerchant = Type.Object({
  merchant: MerchantItem,
  webApiKey: Text,
  secretKey: Text,
  webhookSecret: Text,
})
export const CreateKeyRequest = Type.Object({
  name: Text,
  scopes: Type.Array(Text, { minItems: 1 }),
  validUntil: Type.Optional(Time),
})
export const RotateRequest = Type.Object({
  secret: OneOf(['webApiKey', 'secretKey', 'webhookSecret']),
  overlapMinutes: Type.Optional(Type.Integer({ minimum: 0, maximum: 525_600 })),
})
/** Shown once. */
export const IssuedSecret = Type.Object({ merchant: MerchantItem, value: Text })
/** Who changed what, newest first; secrets left out. */
export const ChangesAnswer = Type.Object({
  items: Type.Array(
    Type.Object({ at: Time, actor: Text, type: Text, subject: Text, data: Type.Record(Text, Type.Unknown()) }),
  ),
})

// ── Figures ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const RangeQuery = Type.Object({
  merchantId: Type.Optional(Text),
  /** ISO 8601; whole hours in UTC are counted. */
  from: Text,
  to: Text,
})
/** What reached a status in an hour (or a day, where the range is long). */
export const Bucket = Type.Object({
  start: Time,
  kind: Kind,
  status: StatusName,
  count: Type.Integer(),
  amountMinor: Minor,
  transactionAmountMinor: Minor,
})
export const OverviewAnswer = Type.Object({
  bucketMs: Type.Integer(),
  buckets: Type.Array(Bucket),
  /** Of the newest completed in the range, at most 1000 of each kind; milliseconds from creation. */
  timeToCompletion: Type.Array(
    Type.Object({
      kind: Kind,
      count: Type.Integer(),
      medianMs: Nullable(Type.Integer()),
      p95Ms: Nullable(Type.Integer()),
    }),
  ),
  oldestPending: Type.Array(TransferRow),
  /** At most 1000, which then means that many or more. */
  needingAttention: Type.Integer(),
  pending: Type.Array(Type.Object({ kind: Kind, count: Type.Integer() })),
  failingEndpoints: Type.Integer(),
  parkedCallbacks: Type.Integer(),
  /** For those who may see operations; empty otherwise. */
  projections: Type.Array(Type.Object({ name: Text, behind: Type.Boolean(), lagMs: Nullable(Type.Integer()) })),
})

/** One message of the live view (`GET /dashboard/api/live`, server-sent events), at most two a second. */
export const LiveMessage = Type.Object({
  /** Since the message before, what reached a status: adds to the overview's buckets. */
  changes: Type.Array(Bucket),
  /** The newest of what changed, at most 50. */
  transfers: Type.Array(TransferRow),
})

export const StatementAnswer = Type.Object({
  items: Type.Array(
    Type.Object({
      /** 2026-11-21, UTC. */
      day: Text,
      kind: Kind,
      requestedCount: Type.Integer(),
      requestedMinor: Minor,
      completedCount: Type.Integer(),
      completedMinor: Minor,
      /** Booked less (or more) than requested, of what completed that day. */
      mismatchMinor: Minor,
      returnedMinor: Minor,
      /** Requested and not ended at the end of the day. */
      openCount: Type.Integer(),
      openMinor: Minor,
    }),
  ),
})

/** What the command palette jumps to. */
export const SearchAnswer = Type.Object({
  items: Type.Array(
    Type.Object({ type: OneOf(['transfer', 'merchant', 'user']), id: Text, title: Text, subtitle: Text }),
  ),
})

export type Session = Static<typeof SessionAnswer>
export type TransferRowView = Static<typeof TransferRow>
export type TransferDetailView = Static<typeof TransferDetail>
export type TransferAction = (typeof transferActions)[number]
