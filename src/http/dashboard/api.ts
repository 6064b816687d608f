import type { Static, TSchema } from '@sinclair/typebox'
import { maxReferenceLength } from '../../commands/transfer/transfer-requests.js'
import { endpointWarnings } from '../../domain/merchant/merchant-settings.js'
import type { RuleName } from '../../domain/rules.js'
import { payoutTabs } from '../../domain/transfer/payout-queue.js'
import { type Status, statusCodes } from '../../domain/transfer/status.js'
import type { BankEffect, TransferKind } from '../../domain/transfer/transfer-events.js'
import { type Permission, permissions, type Role, roles } from '../../domain/user/permissions.js'
import { limitScopes } from '../../domain/withdrawal-limits.js'
import { Type } from '../../kernel/typebox.js'
import { maxSearchedLength, typedAs } from '../../kernel/typed-text.js'
import type { CommonRefusalName } from '../refusals.js'
import { printableNotBlank } from '../server/validation.js'
import { payeeFields, requestedFields } from '../v1/v1-schemas.js'

/**
 * The API of the dashboard under `/dashboard/api`. The pages import only the types. Amounts are hundredths of the service's currency,
 * regardless of its decimals (fields end in `Minor`). Times are ISO 8601 in UTC with milliseconds. Failures have the envelope of the
 * merchant API.
 */

export const OneOf = <const Values extends readonly string[]>(values: Values) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values] })
/** Lists types where possible, because the serializer of a union compiles a validator, which held the main thread for up to 115 ms. */
export const Nullable = <Schema extends TSchema>(schema: Schema) =>
  Type.Unsafe<Static<Schema> | null>(
    typeof schema.type === 'string' && schema.const === undefined && schema.allOf === undefined
      ? { ...schema, type: [schema.type, 'null'], ...(schema.enum && { enum: [...schema.enum, null] }) }
      : Type.Union([schema, Type.Null()]),
  )
/** An array of a response, which is only read. */
export const List = <Item extends TSchema>(item: Item) => Type.Unsafe<readonly Static<Item>[]>(Type.Array(item))
export const Items = <Item extends TSchema>(item: Item) => Type.Object({ items: List(item) })
const Page = <Item extends TSchema>(item: Item) => Type.Object({ items: List(item), nextCursor: Nullable(Text) })
export const Text = Type.String()
export const Time = Type.String()
const Minor = Type.Integer()
/** A sum of amounts in decimal digits, because JSON numbers are exact only below 2^53. */
const SumMinor = Type.String({ pattern: '^-?[0-9]+$' })
export const Data = Type.Record(Text, Type.Unknown())
export const Reason = Type.String({ minLength: 1, maxLength: 500 })
export const Kind = OneOf<readonly TransferKind[]>(['deposit', 'withdrawal'])
export type Kind = Static<typeof Kind>
export const StatusName = OneOf(Object.keys(statusCodes) as Status[])
export const BankEffectName = OneOf<readonly BankEffect[]>([
  'completed',
  'confirmed',
  'received',
  'returned',
  'rejected',
])
const RoleName = OneOf<readonly Role[]>(roles)
const PermissionName = OneOf(Object.keys(permissions) as Permission[])
const SixDigits = Type.String({ [typedAs]: 'code', pattern: '^[0-9]{6}$' })
/** Six digits, or a recovery code. */
const Code = Type.String({ [typedAs]: 'code', pattern: '^([0-9]{6}|[a-z2-9]{20})$' })
const Email = Type.String({ [typedAs]: 'email', minLength: 1, maxLength: 254 })
const Password = Type.String({ minLength: 1, maxLength: 256 })
const Limit = Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' }))
const Cursor = Type.Optional(Type.String({ maxLength: 400 }))
/** The revision that the user saw. If there is a later event, the request fails with 409 `changed-meanwhile`, and nothing is done. */
const Seen = { revision: Type.Integer({ minimum: 0 }) }
/** For an action that needs nothing else. */
export const PlainAction = Type.Object(Seen)
export type PlainAction = Static<typeof PlainAction>
export const TransferParams = Type.Object({ trackingId: Text })
export const MerchantParams = Type.Object({ merchantId: Text })

// ── People ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const SignInRequest = Type.Object({
  email: Email,
  password: Password,
  /** Required after the refusal `second-factor-needed`. */
  code: Type.Optional(Code),
})
export type SignInRequest = Static<typeof SignInRequest>
/** Confirms the user's identity for actions that need a recent sign-in. */
export const ConfirmRequest = Type.Omit(SignInRequest, ['email'])
export type ConfirmRequest = Static<typeof ConfirmRequest>
export const ChangePasswordRequest = Type.Object({
  current: Password,
  next: Type.String({ minLength: 12, maxLength: 256 }),
  /** Required if the user has a second factor. */
  code: Type.Optional(Code),
})
export type ChangePasswordRequest = Static<typeof ChangePasswordRequest>

export const SessionItem = Type.Object({
  /** Identifies the session. It grants no access. */
  sessionId: Text,
  current: Type.Boolean(),
  createdAt: Time,
  lastSeenAt: Time,
  expiresAt: Time,
  address: Text,
  userAgent: Text,
})
export type SessionItem = Static<typeof SessionItem>
export const SessionsResponse = Items(SessionItem)
export type SessionsResponse = Static<typeof SessionsResponse>

/** Shown once, during the setup of the second factor. */
export const SecondFactorOffer = Type.Object({ secret: Text, uri: Text })
export type SecondFactorOffer = Static<typeof SecondFactorOffer>
export const SecondFactorCode = Type.Object({ code: SixDigits })
export type SecondFactorCode = Static<typeof SecondFactorCode>

/** Shown once. They replace all earlier ones. */
export const RecoveryCodes = Type.Object({ codes: List(Text) })
export type RecoveryCodes = Static<typeof RecoveryCodes>

export const UserItem = Type.Object({
  userId: Text,
  email: Text,
  name: Text,
  role: RoleName,
  /** Null for all merchants. */
  merchantIds: Nullable(List(Text)),
  disabled: Type.Boolean(),
  /** The administrators whose changes wait for the confirmation of another one. Until then, the user cannot sign in. */
  heldBy: List(Text),
  mustChangePassword: Type.Boolean(),
  hasSecondFactor: Type.Boolean(),
  createdAt: Time,
  lastSignInAt: Nullable(Time),
  revision: Type.Integer(),
})
export type UserItem = Static<typeof UserItem>
/** The signed-in user, and the settings that the pages need at the start. */
export const SessionResponse = Type.Object({
  user: Type.Intersect([
    Type.Pick(UserItem, ['userId', 'email', 'name', 'role', 'merchantIds', 'hasSecondFactor']),
    Type.Object({ recoveryCodesLeft: Type.Integer() }),
  ]),
  permissions: List(PermissionName),
  /** The value of the header `x-csrf-token` of every change. */
  csrfToken: Text,
  /** If true, only a change of the password is allowed. */
  mustChangePassword: Type.Boolean(),
  /** The time until which the sign-in counts as recent. */
  recentUntil: Time,
  /** The merchants that the user can see. */
  merchants: List(Type.Object({ merchantId: Text, name: Text, sandbox: Type.Boolean() })),
  currency: Type.Object({ code: Text, digits: Type.Integer() }),
  paymentMethods: List(
    Type.Object({
      code: Type.Integer(),
      /** The name in each language of the pages. */
      names: Type.Object({ en: Text, tr: Text }),
      paidBy: OneOf(['wallet', 'manual']),
    }),
  ),
  /** True if there is no live merchant, so that transfers may be samples. */
  sandbox: Type.Boolean(),
})
export type Session = Static<typeof SessionResponse>

export const UsersResponse = Items(UserItem)
export type UsersResponse = Static<typeof UsersResponse>
export const CreateUserRequest = Type.Object({
  email: Email,
  name: Type.String({ minLength: 1, maxLength: 128 }),
  role: RoleName,
  /** Required for the roles of merchants, and rejected for other roles. */
  merchantIds: Type.Optional(Type.Array(Text, { minItems: 1, maxItems: 100 })),
})
export type CreateUserRequest = Static<typeof CreateUserRequest>
export const ChangeRoleRequest = Type.Composite([
  Type.Object(Seen),
  Type.Pick(CreateUserRequest, ['role', 'merchantIds']),
])
export type ChangeRoleRequest = Static<typeof ChangeRoleRequest>
/** The initial password is shown once and must be changed at the first sign-in. */
export const IssuedPassword = Type.Object({ user: UserItem, password: Text })
export type IssuedPassword = Static<typeof IssuedPassword>

// ── Transfers ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The values of a query are text. `cursor` is the `nextCursor` of the previous page. */
export const TransfersQuery = Type.Object({
  kind: Type.Optional(Kind),
  status: Type.Optional(StatusName),
  merchantId: Type.Optional(Text),
  /** Created at or after this ISO 8601 time. */
  from: Type.Optional(Text),
  /** Created before this time. */
  to: Type.Optional(Text),
  /** Only transfers whose money needs a decision. */
  attention: Type.Optional(Type.Literal('open')),
  /** A code of the catalogue. */
  method: Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$' })),
  /** Minor units, inclusive. */
  minAmount: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })),
  maxAmount: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })),
  /** Prefixes of words of a referenceId, trackingId, userId, name, account number or value of the metadata. */
  text: Type.Optional(Type.String({ maxLength: maxSearchedLength })),
  sort: Type.Optional(OneOf(['newest', 'oldest', 'largest', 'smallest'])),
  limit: Limit,
  cursor: Cursor,
})

/** The language and the time zone of the page that requests a file for people: English and UTC by default. */
export const FileForPeople = Type.Object({
  language: Type.Optional(Type.String({ pattern: '^[a-z]{2}(-[A-Z]{2})?$' })),
  timeZone: Type.Optional(Type.String({ maxLength: 64 })),
})
export const TransfersFileQuery = Type.Composite([Type.Omit(TransfersQuery, ['limit', 'cursor']), FileForPeople])

export const ClaimView = Type.Object({
  /** Empty for a program of a merchant. */
  userId: Text,
  /** The displayed name of the claimant. */
  name: Text,
  at: Time,
  /** The end of the claim; null while a bank file contains the withdrawal. */
  until: Nullable(Time),
  mine: Type.Boolean(),
})
export type ClaimView = Static<typeof ClaimView>

/** A limit on withdrawals over a period, with the number and the sum that need no approval; null for any. */
const withdrawalLimit = {
  per: OneOf(limitScopes),
  hours: Type.Union([Type.Literal(24), Type.Literal(720)]),
  count: Nullable(Type.Integer()),
  amountMinor: Nullable(Minor),
}

export const TransferRow = Type.Object({
  trackingId: Text,
  merchantId: Text,
  referenceId: Text,
  kind: Kind,
  status: StatusName,
  amountMinor: Minor,
  /** The amount that moved. */
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
  /** The latest bank file that contains the withdrawal. The bank may have paid it. */
  bankFile: Nullable(Type.Object({ messageId: Text, name: Text, at: Time })),
  /** A payment of the requested amount needs the approval of a second user, which is missing. */
  awaitsApproval: Type.Boolean(),
  /** The limits that a withdrawal was beyond when its payout started, or would be beyond if it started now. */
  exceeded: List(Type.Object({ ...withdrawalLimit, actualCount: Type.Integer(), actualMinor: Minor })),
  /** The viewer can give that approval. */
  canApprove: Type.Boolean(),
  /** The viewer can claim the withdrawal or has claimed it, and no approval is missing. */
  canPay: Type.Boolean(),
  createdAt: Time,
  updatedAt: Time,
  /** Deposits only. */
  expiresAt: Nullable(Time),
  revision: Type.Integer(),
})
export type TransferRow = Static<typeof TransferRow>
export const TransfersResponse = Page(TransferRow)
export type TransfersResponse = Static<typeof TransfersResponse>
/** All transfers of a list. With `more`, the numbers are those of the first thousand. */
export const TransfersSum = Type.Object({ count: Type.Integer(), more: Type.Boolean(), amountMinor: SumMinor })
export type TransfersSum = Static<typeof TransfersSum>

/** The permission that each action requires. */
export const permissionOf = {
  claim: 'transfers:settle',
  release: 'transfers:settle',
  approve: 'transfers:approve',
  complete: 'transfers:settle',
  receive: 'transfers:settle',
  correct: 'transfers:settle',
  'approve-correction': 'transfers:approve',
  cancel: 'transfers:settle',
  'manual-control': 'transfers:settle',
  return: 'transfers:settle',
  'payout-returned': 'transfers:settle',
  refund: 'transfers:settle',
  'pay-again': 'transfers:settle',
  'approve-refund': 'transfers:approve',
  'reject-refund': 'transfers:approve',
  resolve: 'transfers:approve',
  reopen: 'transfers:approve',
} as const satisfies { readonly [action: string]: Permission }
export type TransferAction = keyof typeof permissionOf

const RefundView = Type.Object({
  refundId: Text,
  referenceId: Text,
  amountMinor: Minor,
  to: OneOf(['account', 'wallet', 'elsewhere']),
  state: OneOf(['proposed', 'open', 'returned', 'cancelled', 'failed', 'rejected', 'refused']),
  userId: Text,
  name: Text,
  at: Time,
  accountNumber: Nullable(Text),
  receiptUrl: Nullable(Text),
  /** The viewer can approve it. */
  canApprove: Type.Boolean(),
})

const RepaymentView = Type.Object({
  repaymentId: Text,
  referenceId: Text,
  amountMinor: Minor,
  state: OneOf(['open', 'paid', 'cancelled', 'failed', 'refused']),
  userId: Text,
  name: Text,
  at: Time,
  accountNumber: Text,
})

/** One transfer, read from the log and therefore current. */
export const TransferDetail = Type.Object({
  ...TransferRow.properties,
  channel: Nullable(Text),
  ...requestedFields,
  ...payeeFields,
  receiptUrl: Nullable(Text),
  message: Nullable(Text),
  receivedMinor: Minor,
  /** The money of a deposit that was returned to the customer, or that of a withdrawal that came back. */
  returnedMinor: Minor,
  /** The paid money of a withdrawal that did not come back. */
  keptMinor: Minor,
  resolvedMinor: Minor,
  /** The part of the returned amount that was booked. */
  refundedMinor: Minor,
  /** The money without a decision: received and neither booked, returned nor resolved, or sent back by the bank and not resolved. */
  unsettledMinor: Minor,
  /** The part of it that no refund reserves. */
  undecidedMinor: Minor,
  /** The most that can be refunded. */
  refundableMinor: Minor,
  /** A refund can go to the wallet account that paid the deposit. */
  walletRefund: Type.Boolean(),
  /** The refunds of a deposit, oldest first. */
  refunds: List(RefundView),
  /** The deposit whose money the withdrawal returns. */
  refundOf: Nullable(Text),
  /** The repayments of a withdrawal that came back, oldest first. */
  repayments: List(RepaymentView),
  /** The withdrawal that came back and that this one pays again. */
  repaymentOf: Nullable(Text),
  /** The amount of a completion that names none. 0 if money was received and none of it is available. */
  expectedMinor: Minor,
  /** The deposit stays open because it holds a part of its amount. */
  waitsForRest: Type.Boolean(),
  /** The payments that were recorded manually, oldest first. */
  payments: List(Type.Object({ amountMinor: Minor, reference: Text, receiptUrl: Nullable(Text), at: Time })),
  /** The money of a withdrawal that came back, oldest first. */
  payoutReturns: List(
    Type.Object({ amountMinor: Minor, reasonCode: Text, reference: Text, receiptUrl: Nullable(Text), at: Time }),
  ),
  /** The payments and rejections of bank files that concern it, oldest first. `bookedOn` is null for a rejection. */
  bankPayments: List(
    Type.Object({
      bankPaymentId: Text,
      effect: BankEffectName,
      amountMinor: Minor,
      bookedOn: Nullable(Text),
      bankReference: Nullable(Text),
      at: Time,
    }),
  ),
  /** Why the bank does not pay the withdrawal, until someone has decided what to do. */
  rejection: Nullable(Type.Object({ reasonCode: Nullable(Text), reasonText: Nullable(Text), at: Time })),
  /** The booked amount before each correction, oldest first. */
  corrections: List(Type.Object({ fromMinor: Minor })),
  /** The correction that waits for an approval. */
  proposedCorrection: Nullable(Type.Object({ userId: Text, name: Text, at: Time, amountMinor: Minor, reason: Text })),
  /** Withdrawals above the merchant's threshold or beyond its limits. */
  approval: Type.Object({
    needed: Type.Boolean(),
    /** The latest approval of an amount to the withdrawal's account. */
    by: Nullable(Type.Object({ userId: Text, name: Text, at: Time, amountMinor: Minor })),
  }),
  /** The actions that the viewer can take now. */
  actions: List(OneOf(Object.keys(permissionOf) as TransferAction[])),
  /** Set if no user can claim, approve or complete it, because the log does not verify. */
  payoutsStopped: Type.Boolean(),
})
export type TransferDetail = Static<typeof TransferDetail>

const Receipt = Type.String({ maxLength: 2048 })
const PositiveMinor = Type.Integer({ minimum: 1, maximum: 99_999_999_999_999 })

/** The approved amount, if it differs from the requested one. */
export const ApproveAction = Type.Object({ ...Seen, amountMinor: Type.Optional(PositiveMinor) })
export const CompleteAction = Type.Object({
  ...Seen,
  /** The paid amount. Defaults to the expected amount. */
  amountMinor: Type.Optional(PositiveMinor),
  /** Repeats an amount that the server considers unlikely. */
  confirmedAmountMinor: Type.Optional(PositiveMinor),
  receiptUrl: Type.Optional(Receipt),
  message: Type.Optional(Reason),
  reason: Type.Optional(Reason),
})
export type CompleteAction = Static<typeof CompleteAction>
/** For cancel and manual-control. The merchant receives the message. */
export const MessageAction = Type.Object({ ...Seen, message: Reason })
export type MessageAction = Static<typeof MessageAction>
/** For resolve and reopen. */
export const ReasonAction = Type.Object({ ...Seen, reason: Reason })
export type ReasonAction = Static<typeof ReasonAction>
export const ReturnAction = Type.Object({ ...Seen, amountMinor: PositiveMinor, receiptUrl: Receipt })
export type ReturnAction = Static<typeof ReturnAction>

const Reference = Type.String({ minLength: 1, maxLength: maxReferenceLength })

export const ReceiveAction = Type.Object({
  ...Seen,
  amountMinor: PositiveMinor,
  /** Repeats an amount that the server considers unlikely. */
  confirmedAmountMinor: Type.Optional(PositiveMinor),
  /** The bank's reference, which no other payment of the deposit has. */
  reference: Reference,
  receiptUrl: Type.Optional(Receipt),
})
export type ReceiveAction = Static<typeof ReceiveAction>
export const PayoutReturnedAction = Type.Object({
  ...Seen,
  /** The amount that came back. */
  amountMinor: PositiveMinor,
  /** The return reason code of the bank (ISO 20022). */
  reasonCode: Type.String({ maxLength: 4 }),
  /** The bank's reference, which no other return of the withdrawal has. */
  reference: Reference,
  receiptUrl: Type.Optional(Receipt),
})
export type PayoutReturnedAction = Static<typeof PayoutReturnedAction>
/** Without an account, the money goes to the wallet account that paid the deposit. */
export const RefundAction = Type.Object({
  ...Seen,
  amountMinor: PositiveMinor,
  accountNumber: Type.Optional(Type.String({ minLength: 1, maxLength: 64, pattern: printableNotBlank })),
})
export type RefundAction = Static<typeof RefundAction>
export const PayAgainAction = Type.Object({
  ...Seen,
  amountMinor: PositiveMinor,
  accountNumber: Type.String({ minLength: 1, maxLength: 64, pattern: printableNotBlank }),
})
export type PayAgainAction = Static<typeof PayAgainAction>
export const RefundDecision = Type.Object({ ...Seen, refundId: Text })
export type RefundDecision = Static<typeof RefundDecision>
export const CorrectAction = Type.Object({
  ...Seen,
  amountMinor: PositiveMinor,
  /** Repeats an amount that the server considers unlikely. */
  confirmedAmountMinor: Type.Optional(PositiveMinor),
  reason: Reason,
  reference: Type.Optional(Reference),
})
export type CorrectAction = Static<typeof CorrectAction>
export const ApproveCorrectionAction = Type.Object({ ...Seen, amountMinor: PositiveMinor })
export type ApproveCorrectionAction = Static<typeof ApproveCorrectionAction>

/** Tells every viewer of transfers that payouts are stopped. */
export const PayoutsResponse = Type.Object({ stopped: Type.Boolean() })
export type PayoutsResponse = Static<typeof PayoutsResponse>

export const PayoutQueueQuery = Type.Object({
  merchantId: Type.Optional(Text),
  tab: Type.Optional(OneOf(payoutTabs)),
})
/** The withdrawals that wait for a payment, oldest first. */
export const PayoutQueueResponse = Type.Object({
  items: List(TransferRow),
  /** Newer withdrawals of the tab are omitted. */
  more: Type.Boolean(),
  /** The number of withdrawals and the sum of the requested amounts of every tab. */
  tabs: List(Type.Object({ tab: OneOf(payoutTabs), count: Type.Integer(), sumMinor: Text })),
  /** True if newer withdrawals are not counted. */
  uncounted: Type.Boolean(),
})
export type PayoutQueueResponse = Static<typeof PayoutQueueResponse>

const BulkItem = Type.Object({ trackingId: Text, ...Seen, receiptUrl: Type.Optional(Receipt) })
/** Whether the user requested withdrawals in manual control too. Without it, each of them is rejected. */
const ManualControl = { manualControl: Type.Optional(Type.Boolean()) }
/** Claims or completes withdrawals sequentially. Each succeeds or fails individually. */
export const BulkAction = Type.Object({ items: Type.Array(BulkItem, { minItems: 1, maxItems: 200 }) })
export const BulkCompletion = Type.Composite([BulkAction, Type.Object(ManualControl)])
export const BulkResponse = Items(
  Type.Object({
    trackingId: Text,
    /** The current state, or null if the viewer cannot see it. */
    transfer: Nullable(TransferDetail),
    /** Null if it succeeded. */
    error: Nullable(
      Type.Object({
        code: Type.Integer(),
        message: Text,
        /** The violated rule and its values; amounts are minor units. */
        rule: Type.Unsafe<RuleName | CommonRefusalName>({ type: 'string' }),
        values: Data,
      }),
    ),
  }),
)
export type BulkResponse = Static<typeof BulkResponse>
const AddressText = Type.String({ maxLength: 70 })
/** For withdrawals that the viewer has claimed. pain.001 requires IBANs of SEPA countries. */
export const BankFileRequest = Type.Object({
  format: OneOf(['csv', 'pain.001']),
  trackingIds: Type.Array(Text, { minItems: 1, maxItems: 200 }),
  /** The debtor, for pain.001. Accounts outside the European Economic Area need the address. */
  debtor: Type.Optional(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 70 }),
      iban: Text,
      bic: Type.Optional(Text),
      address: Type.Optional(
        Type.Object({
          street: Type.Optional(AddressText),
          building: Type.Optional(AddressText),
          postcode: Type.Optional(AddressText),
          town: AddressText,
          /** ISO 3166, such as DE. */
          country: AddressText,
        }),
      ),
    }),
  ),
  /** The day on which the bank pays, such as 2026-11-23, for pain.001; defaults to the next TARGET day. */
  date: Type.Optional(Type.String({ maxLength: 10 })),
  /** The time zone of the day in the name of a CSV file; defaults to that of the server. */
  timeZone: Type.Optional(Type.String({ maxLength: 64 })),
  /** Why withdrawals that are in a file already are in another one, and the files (`messageId`) that the user saw. */
  repeat: Type.Optional(
    Type.Object({ reason: Reason, files: Type.Array(Type.String({ maxLength: 35 }), { minItems: 1, maxItems: 200 }) }),
  ),
  ...ManualControl,
})
export type BankFileRequest = Static<typeof BankFileRequest>
/** The address of an uploaded file (PDF, PNG or JPEG of at most 5 MB, sent as the body with its content type). */
export const StoredReceipt = Type.Object({ receiptUrl: Text })
export type StoredReceipt = Static<typeof StoredReceipt>

/** One event of any of the transfer's streams. */
export const StoryItem = Type.Object({
  at: Time,
  source: OneOf(['transfer', 'payment', 'callback']),
  /** The event's type, such as TransferCompleted. */
  type: Text,
  /** The revision in its stream. */
  revision: Type.Integer(),
  /** A user, a merchant's key, or a part of the service. */
  actor: Text,
  correlationId: Text,
  /** The fields of the event without secrets. Amounts end in `Minor`. */
  data: Data,
})
export type StoryItem = Static<typeof StoryItem>
export const StoryResponse = Items(StoryItem)
export type StoryResponse = Static<typeof StoryResponse>

// ── Callbacks ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const CallbacksQuery = Type.Object({
  merchantId: Type.Optional(Text),
  status: Type.Optional(OneOf(['waiting', 'delivered', 'parked'])),
  trackingId: Type.Optional(Text),
  limit: Limit,
  cursor: Cursor,
})
export const CallbackStreamQuery = Type.Object({
  merchantId: Text,
  /** For a new EventSource, which cannot send the header. A header counts first, because browsers reconnect with a newer id in it. */
  lastEventId: Type.Optional(Text),
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
export type CallbackRow = Static<typeof CallbackRow>
export const CallbacksResponse = Page(CallbackRow)
export type CallbacksResponse = Static<typeof CallbacksResponse>
export const CallbackParams = Type.Object({ trackingId: Type.String(), webhookId: Type.String() })
export const CallbackContent = Type.Object({
  /** The body without its hash code. */
  request: Text,
  /** The start of the body of the last attempt's response if it failed recently. */
  response: Nullable(Text),
})
export type CallbackContent = Static<typeof CallbackContent>

/** One attempt to send a callback. */
const EndpointAttempt = Type.Object({
  at: Time,
  trackingId: Text,
  referenceId: Text,
  transferStatus: StatusName,
  /** Null without a response. */
  httpStatus: Nullable(Type.Integer()),
  durationMs: Type.Integer(),
  /** Null if the callback was delivered. */
  failure: Nullable(Text),
})
/** A merchant's endpoint. `failing`: every attempt since `failingSince` has failed. */
export const EndpointItem = Type.Object({
  merchantId: Text,
  merchantName: Text,
  url: Text,
  state: OneOf(['healthy', 'failing', 'disabled']),
  /** The reason why it is disabled. */
  reason: Nullable(Text),
  failingSince: Nullable(Time),
  /** The number, or 1000 for 1000 and more. */
  waiting: Type.Integer(),
  parked: Type.Integer(),
  /** The latest attempts, oldest first, at most 60. */
  attempts: List(EndpointAttempt),
  /** The first 1000 bytes of the last failed response, while the endpoint fails. */
  lastBody: Nullable(Text),
})
export type EndpointItem = Static<typeof EndpointItem>
export const EndpointsResponse = Items(EndpointItem)
export type EndpointsResponse = Static<typeof EndpointsResponse>

/** Selected callbacks, or all callbacks of a merchant that were parked since a time. */
export const ResendRequest = Type.Union([
  Type.Object({
    callbacks: Type.Array(Type.Object({ trackingId: Text, webhookId: Text }), { minItems: 1, maxItems: 200 }),
  }),
  Type.Object({ merchantId: Text, parkedSince: Time }),
])
export type ResendRequest = Static<typeof ResendRequest>
/** One request requeues at most 1000. Send another request while `more` is true. */
export const ResendResponse = Type.Object({ requeued: Type.Integer(), more: Type.Boolean() })
export type ResendResponse = Static<typeof ResendResponse>
/** The endpoint's response to a signed test event. */
export const TestAnswer = Type.Object({
  delivered: Type.Boolean(),
  httpStatus: Nullable(Type.Integer()),
  durationMs: Type.Integer(),
  failure: Nullable(Text),
  /** The target of a redirect, which is not followed. */
  redirectsTo: Nullable(Text),
  /** Whether callbacks that waited after a failed attempt are sent again. */
  resendsWaiting: Type.Boolean(),
})
export type TestAnswer = Static<typeof TestAnswer>

// ── Merchants ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

const WithdrawalLimits = List(Type.Object(withdrawalLimit))
const MerchantSettingsView = Type.Object({
  name: Text,
  callbackUrl: Text,
  allowIps: List(Text),
  sandbox: Type.Boolean(),
  autoCancelMismatch: Type.Boolean(),
  mismatchToleranceMinor: Minor,
  manualControlAboveMinor: Nullable(Minor),
  /** The amount above which withdrawals need a second person. */
  approvalAboveMinor: Nullable(Minor),
  approvalOverDay: Type.Boolean(),
  withdrawalLimits: WithdrawalLimits,
  rateLimitPerSecond: Type.Integer(),
  depositExpiryMinutes: Type.Integer(),
  minAmountMinor: Minor,
  maxAmountMinor: Minor,
  requireNativeHash: Type.Boolean(),
  requireSignature: OneOf(['none', 'withdrawals', 'all']),
  callbackOnCreate: Type.Boolean(),
  callbackOnMoney: Type.Boolean(),
  returnUrl: Nullable(Text),
  frameAncestors: List(Text),
  paymentInstructions: List(Type.Object({ paymentMethod: Type.Integer(), text: Text })),
})
export const KeyItem = Type.Object({
  keyId: Text,
  name: Text,
  scopes: List(Text),
  createdAt: Time,
  validUntil: Nullable(Time),
})
export type KeyItem = Static<typeof KeyItem>
export const MerchantItem = Type.Object({
  merchantId: Text,
  settings: MerchantSettingsView,
  keys: List(KeyItem),
  suspended: Type.Boolean(),
  /** The digest of the logo on the payment page. */
  logoSha256: Nullable(Text),
  /** The higher threshold (null for none) or limits that wait for the confirmation of a second administrator. Other settings are null. */
  proposedThreshold: Nullable(
    Type.Object({
      approvalAboveMinor: Nullable(Minor),
      withdrawalLimits: Nullable(WithdrawalLimits),
      approvalOverDay: Nullable(Type.Boolean()),
      by: Text,
      at: Time,
    }),
  ),
  callbacksDisabled: Nullable(Text),
  /** Null if callbacks to the URL can be sent. Only the response to a new URL has resolved its name. */
  endpointWarning: Nullable(OneOf(endpointWarnings)),
  createdAt: Time,
  revision: Type.Integer(),
})
export type MerchantItem = Static<typeof MerchantItem>
export const MerchantsResponse = Items(MerchantItem)
export type MerchantsResponse = Static<typeof MerchantsResponse>
export const CreateMerchantRequest = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 128 }),
  callbackUrl: Type.String({ minLength: 1, maxLength: 2048 }),
  allowIps: Type.Array(Text, { minItems: 1, maxItems: 1000 }),
  sandbox: Type.Optional(Type.Boolean()),
})
export type CreateMerchantRequest = Static<typeof CreateMerchantRequest>
export const ChangeMerchantRequest = Type.Composite([
  Type.Object(Seen),
  Type.Partial(Type.Omit(MerchantSettingsView, ['sandbox'])),
])
export type ChangeMerchantRequest = Static<typeof ChangeMerchantRequest>
/** Shown once. */
export const IssuedMerchant = Type.Object({
  merchant: MerchantItem,
  webApiKey: Text,
  secretKey: Text,
  webhookSecret: Text,
})
export type IssuedMerchant = Static<typeof IssuedMerchant>
export const CreateKeyRequest = Type.Object({
  name: Text,
  scopes: Type.Array(Text, { minItems: 1 }),
  validUntil: Type.Optional(Time),
})
export type CreateKeyRequest = Static<typeof CreateKeyRequest>
export const RotateRequest = Type.Object({
  secret: OneOf(['webApiKey', 'secretKey', 'webhookSecret']),
  overlapMinutes: Type.Optional(Type.Integer({ minimum: 0, maximum: 525_600 })),
})
export type RotateRequest = Static<typeof RotateRequest>
/** Shown once. */
export const IssuedSecret = Type.Object({ merchant: MerchantItem, value: Text })
export type IssuedSecret = Static<typeof IssuedSecret>
/** The changes and their users, newest first and without secrets. */
export const ChangesResponse = Items(Type.Object({ at: Time, actor: Text, type: Text, subject: Text, data: Data }))
export type ChangesResponse = Static<typeof ChangesResponse>

// ── Figures ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const RangeQuery = Type.Object({
  merchantId: Type.Optional(Text),
  /** ISO 8601. Only whole quarters of an hour are counted. */
  from: Text,
  to: Text,
})
/** Days are those of the time zone, UTC by default. Days that have not come are omitted. */
export const StatementQuery = Type.Object({
  ...RangeQuery.properties,
  timeZone: Type.Optional(Type.String({ maxLength: 64 })),
})
export const StatementFileQuery = Type.Composite([StatementQuery, FileForPeople])
/** The transfers that reached a status in an hour, or in a day if the range is long. */
export const Bucket = Type.Object({
  start: Time,
  kind: Kind,
  status: StatusName,
  count: Type.Integer(),
  amountMinor: SumMinor,
  transactionAmountMinor: SumMinor,
})
export type Bucket = Static<typeof Bucket>
/** The numbers of open transfers, or 1000 for 1000 and more. */
const Open = {
  pending: Type.Object({ deposit: Type.Integer(), withdrawal: Type.Integer() }),
  /** The withdrawals in the payout queue. */
  toPay: Type.Integer(),
  failingEndpoints: Type.Integer(),
}
export const OpenResponse = Type.Object(Open)
export type OpenResponse = Static<typeof OpenResponse>
/** How many transfers wait, at most 500, and when the oldest was created. */
const Waiting = Type.Object({ count: Type.Integer(), since: Nullable(Time) })
export const OverviewResponse = Type.Object({
  bucketMs: Type.Integer(),
  buckets: List(Bucket),
  /** The same range and the one before it, both up to the same time of day, which is the end of a quarter of an hour. */
  compared: Type.Object({
    until: Time,
    /** The time between the two ranges. */
    shiftMs: Type.Integer(),
    now: List(Bucket),
    earlier: List(Bucket),
    /** The buckets of the whole range before. */
    before: List(Bucket),
  }),
  ...Open,
  /** The milliseconds from creation to completion of the newest completed transfers in the range, at most 1000 of each kind. */
  timeToCompletion: List(
    Type.Object({
      kind: Kind,
      count: Type.Integer(),
      medianMs: Nullable(Type.Integer()),
      p95Ms: Nullable(Type.Integer()),
    }),
  ),
  oldestPending: List(TransferRow),
  /** The number, or 1000 for 1000 and more. */
  needingAttention: Type.Object({ deposit: Type.Integer(), withdrawal: Type.Integer() }),
  inManualControl: Type.Object({ deposit: Waiting, withdrawal: Waiting }),
  awaitingApproval: Waiting,
  /** The withdrawals that a bank file has held for more than a day; at most 500 are read. */
  inOldBankFiles: Type.Integer(),
  parkedCallbacks: Type.Integer(),
})
export type OverviewResponse = Static<typeof OverviewResponse>

/** One message of the live view (`GET /dashboard/api/live`, server-sent events), at most two a second. */
export const LiveMessage = Type.Object({
  /** The transfers that reached a status since the previous message, to add to the overview's buckets. */
  changes: List(Bucket),
  /** The newest changes, at most 50. */
  transfers: List(TransferRow),
})
export type LiveMessage = Static<typeof LiveMessage>

/**
 * For deposits, opening + received - completed - corrected + refunded - returned - resolved = held. For withdrawals, completed + corrected =
 * kept + returned, and opening + returned - resolved = held.
 */
export const StatementResponse = Items(
  Type.Object({
    /** 2026-11-21. */
    day: Text,
    kind: Kind,
    requestedCount: Type.Integer(),
    requestedMinor: SumMinor,
    /** The money that was held when the day began. */
    openingMinor: SumMinor,
    receivedMinor: SumMinor,
    completedCount: Type.Integer(),
    completedMinor: SumMinor,
    /** The difference between the booked and requested amounts of the transfers completed that day. */
    mismatchMinor: SumMinor,
    correctedCount: Type.Integer(),
    /** The change of booked amounts by the corrections of that day; negative if they reduce them. */
    correctedMinor: SumMinor,
    /** The money of deposits that was returned to customers, and that of withdrawals that came back. */
    returnedMinor: SumMinor,
    /** Withdrawals: the paid minus the returned money; negative if more came back on that day than was paid. */
    keptMinor: SumMinor,
    /** The part of the returned money that was booked. */
    refundedMinor: SumMinor,
    resolvedMinor: SumMinor,
    /** The money without a decision at the end of the day: received by deposits, or sent back by the bank. */
    heldMinor: SumMinor,
    /** The requested amounts that had not ended at the end of the day. */
    openCount: Type.Integer(),
    openMinor: SumMinor,
  }),
)
export type StatementResponse = Static<typeof StatementResponse>

/** The targets of the command palette. */
export const SearchResponse = Items(
  Type.Object({
    type: OneOf(['transfer', 'merchant', 'user']),
    id: Text,
    title: Text,
    subtitle: Text,
    transfer: Nullable(Type.Pick(TransferRow, ['kind', 'status', 'amountMinor', 'createdAt'])),
  }),
)
export type SearchResponse = Static<typeof SearchResponse>
