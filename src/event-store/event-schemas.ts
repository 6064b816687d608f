import type { TObject, TProperties, TSchema } from '@sinclair/typebox'
import { type StreamPrefix, streamPrefix } from '../domain/streams.js'
import { Type } from '../kernel/typebox.js'

/**
 * The storage format: one schema for each event type and version. A version is never edited once released; a new one is
 * added with an upcaster from the previous one (event-codec.ts). Golden JSON of each is in test/fixtures/events.
 */

/** An amount in minor units, as decimal digits: JSON has no 64-bit integers. Fields that hold one end in `Minor`. */
const Minor = Type.String({ pattern: '^(0|[1-9]\\d{0,14})$' })
/** Of a field that is never 0: the last guard against a transfer of nothing. */
const PositiveMinor = Type.String({ pattern: '^[1-9]\\d{0,14}$' })
const Id = Type.String({ minLength: 1, maxLength: 64 })
const Text = Type.String({ maxLength: 2048 })
/** As in the metadata. */
const Actor = Type.String({ minLength: 1, maxLength: 256 })
/** What `Date.toISOString` prints, and nothing else: expiry and rotation compare times as text. */
const At = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' })
const Nullable = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])
const OneOf = <Name extends string>(...names: Name[]) => Type.Union(names.map((name) => Type.Literal(name)))
/** From 1. */
const Count = Type.Integer({ minimum: 1 })
const event = <T extends TProperties>(properties: T): TObject<T> =>
  Type.Object(properties, { additionalProperties: false })

/** Says who a customer is, or where they are paid: stored as ciphertext under the customer's own key (personal-fields.ts). */
const Personal = <Schema extends TSchema>(schema: Schema): Schema => ({ ...schema, personal: true })

const Kind = OneOf('deposit', 'withdrawal')
const transfer = {
  trackingId: Id,
  merchantId: Id,
  kind: Kind,
  referenceId: Id,
  amountMinor: PositiveMinor,
  at: At,
}
const customer = {
  userId: Personal(Text),
  name: Personal(Text),
  username: Personal(Text),
  paymentMethod: Type.Integer(),
}
const deposit = { channel: OneOf('hosted', 'native'), expiresAt: At }
const withdrawal = { accountNumber: Personal(Text), identityNumber: Personal(Nullable(Text)) }
const completion = {
  transactionAmountMinor: PositiveMinor,
  hasAmountMismatch: Type.Boolean(),
  receiptUrl: Nullable(Text),
  message: Nullable(Text),
}
const cancellation = {
  message: Nullable(Text),
  transactionAmountMinor: Minor,
  hasAmountMismatch: Type.Boolean(),
  receiptUrl: Nullable(Text),
  autoCancelledAmountMinor: Nullable(PositiveMinor),
}
const receipt = { receivedAmountMinor: PositiveMinor, receiptUrl: Nullable(Text) }

const Sealed = Type.String({ pattern: '^v1\\.' })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

const settings = {
  name: Text,
  callbackUrl: Text,
  allowIps: Type.Array(Text, { maxItems: 1000 }),
  sandbox: Type.Boolean(),
  autoCancelMismatch: Type.Boolean(),
  mismatchToleranceMinor: Minor,
  rateLimitPerSecond: Count,
  depositExpiryMinutes: Count,
  minAmountMinor: Minor,
  maxAmountMinor: Minor,
  requireNativeHash: Type.Boolean(),
  requireSignature: OneOf('none', 'withdrawals', 'all'),
  callbackOnCreate: Type.Boolean(),
  returnUrl: Nullable(Text),
  frameAncestors: Type.Array(Text, { maxItems: 20 }),
  manualControlAboveMinor: Nullable(Minor),
  paymentInstructions: Type.Array(event({ paymentMethod: Type.Integer(), text: Text }), { maxItems: 50 }),
  approvalAboveMinor: Nullable(Minor),
}
const credentials = { apiKeySha256: Sha256, secretKey: Sealed, webhookSecret: Sealed }
const merchant = { merchantId: Id, at: At }
const rotation = { ...merchant, previousValidUntil: At }
const apiKey = { ...merchant, name: Text, apiKeySha256: Sha256, validUntil: Nullable(At) }
const someScopes = { minItems: 1, uniqueItems: true }

const callback = { webhookId: Id, trackingId: Id, merchantId: Id, at: At }
const attempt = {
  ...callback,
  attempt: Count,
  httpStatus: Type.Union([Type.Integer(), Type.Null()]),
  durationMs: Type.Number({ minimum: 0 }),
}

const StreamName = Type.String({ minLength: 1, maxLength: 2048 })
const Place = event({ stream: StreamName, revision: Type.Integer({ minimum: 0 }) })
/** In one event. */
export const maxListedStreams = 2_000

const AccountNumber = Type.Integer({ minimum: 1, maximum: 999_999_999_999 })
/** Of the account that a customer pays from. */
const PayersAccount = Personal(AccountNumber)
const walletAccount = { accountNumber: AccountNumber, at: At }
const walletPayment = { ...walletAccount, trackingId: Id, amountMinor: PositiveMinor, description: Text }
const payment = { trackingId: Id, merchantId: Id, at: At }
const challenge = { ...payment, challengeId: Id }
const ending = {
  collection: Count,
  outcome: OneOf('collected', 'refused', 'unknown', 'not-taken'),
  collectedAmountMinor: Minor,
  receiptUrl: Nullable(Text),
}

/** In one event: a customer who has more transfers takes several. */
export const maxErasedTransfers = 10_000

const user = { userId: Id, at: At }
const position = {
  role: OneOf('viewer', 'operator', 'approver', 'auditor', 'operations', 'administrator'),
  merchantIds: Type.Union([Type.Array(Id, { minItems: 1, maxItems: 100 }), Type.Null()]),
}
const PasswordHash = Type.String({ pattern: '^\\$argon2id\\$' })
const password = { passwordHash: PasswordHash, temporary: Type.Boolean() }
const CodeCounter = Type.Integer({ minimum: 0 })
const proof = { codeCounter: Type.Union([CodeCounter, Type.Null()]) }

/** Every version of every event type, oldest first, by how the names of the streams begin that hold it. */
export const schemasByStream = {
  [streamPrefix.transfer]: {
    DepositCreated: [event({ ...transfer, ...customer, told: Type.Boolean(), ...deposit, hashId: Nullable(Id) })],
    WithdrawalCreated: [event({ ...transfer, ...customer, told: Type.Boolean(), ...withdrawal, hashId: Nullable(Id) })],
    TransferCompleted: [event({ ...transfer, ...completion, reason: Nullable(Text) })],
    TransferSentToManualControl: [event({ ...transfer, message: Nullable(Text) })],
    TransferCancelled: [
      event({ ...transfer, ...cancellation, reason: OneOf('requested', 'expired', 'amount-mismatch') }),
    ],
    TransferFailed: [event({ ...transfer, message: Nullable(Text) })],
    LateFundsReceived: [event({ ...transfer, ...receipt, hasAmountMismatch: Type.Boolean() })],
    TransferReopened: [event({ ...transfer, reason: Text })],
    FundsReturned: [
      event({ ...transfer, returnedAmountMinor: PositiveMinor, receiptUrl: Text, hasAmountMismatch: Type.Boolean() }),
    ],
    AttentionResolved: [event({ ...transfer, resolvedAmountMinor: Minor, reason: Text })],
    WithdrawalClaimed: [event({ ...transfer, by: Actor, until: At })],
    WithdrawalReleased: [event({ ...transfer, by: Actor })],
    WithdrawalApproved: [
      event({ ...transfer, by: Actor, accountNumber: Personal(Text), approvedAmountMinor: PositiveMinor }),
    ],
    PersonalDataErased: [event({ ...transfer, paymentMethod: Type.Integer(), createdAt: At })],
  },
  [streamPrefix.merchant]: {
    MerchantRegistered: [event({ ...merchant, settings: event(settings), ...credentials })],
    MerchantSettingsChanged: [
      event({ ...merchant, changes: Type.Partial(event(settings), { additionalProperties: false }) }),
    ],
    ApiKeyRotated: [event({ ...rotation, apiKeySha256: Sha256 })],
    ApiKeyCreated: [
      event({ ...apiKey, scopes: Type.Array(OneOf('read', 'deposits', 'withdrawals', 'settlement'), someScopes) }),
    ],
    ApiKeyRevoked: [event({ ...merchant, keyId: Type.String({ pattern: '^[0-9a-f]{12}$' }) })],
    SecretKeyRotated: [event({ ...rotation, secretKey: Sealed })],
    SecretKeyTakenUp: [event({ ...merchant, number: Type.Integer({ minimum: 0 }) })],
    WebhookSecretRotated: [event({ ...rotation, webhookSecret: Sealed })],
    MerchantSecretsResealed: [
      event({
        ...merchant,
        secretKeys: Type.Array(event({ number: Type.Integer({ minimum: 0 }), secretKey: Sealed }), {
          minItems: 1,
          maxItems: 100,
        }),
        webhookSecret: Sealed,
        previousWebhookSecret: Nullable(Sealed),
      }),
    ],
    MerchantSuspended: [event(merchant)],
    MerchantResumed: [event(merchant)],
    CallbackEndpointDisabled: [event({ ...merchant, reason: Text })],
    CallbackEndpointEnabled: [event(merchant)],
  },
  [streamPrefix.callback]: {
    CallbackRecorded: [
      event({
        ...callback,
        transferRevision: Type.Integer({ minimum: 0 }),
        payload: event({
          status: Type.Integer({ minimum: 1, maximum: 5 }),
          referenceId: Id,
          message: Nullable(Text),
          amountMinor: PositiveMinor,
          transactionAmountMinor: Minor,
          hasAmountMismatch: Type.Boolean(),
          receiptUrl: Nullable(Text),
        }),
      }),
    ],
    CallbackDelivered: [event(attempt)],
    CallbackAttemptFailed: [event({ ...attempt, reason: Text, nextAttemptAt: At })],
    CallbackParked: [event({ ...attempt, reason: Text })],
    CallbackRequeued: [event(callback)],
  },
  [streamPrefix.callbacks]: {
    CallbackSweepAdvanced: [event({ event: Place, at: At })],
    CallbackEndpointFailing: [event({ ...merchant, since: At })],
    CallbackEndpointRecovered: [event(merchant)],
  },
  [streamPrefix.payment]: {
    WalletLoggedIn: [event({ ...challenge, accountNumber: PayersAccount })],
    WalletCodeAttempted: [event({ ...challenge, attempt: Count })],
    WalletCodeVerified: [event(challenge)],
    WalletDeviceQuestioned: [event({ ...challenge, expiresAt: At })],
    WalletDeviceConfirmed: [event(challenge)],
    WalletCollectionStarted: [
      event({ ...challenge, collection: Count, accountNumber: PayersAccount, amountMinor: PositiveMinor }),
    ],
    WalletCollectionEnded: [
      event({
        ...payment,
        ...ending,
        reason: Type.Union([OneOf('insufficient-balance', 'account-blocked'), Type.Null()]),
      }),
    ],
  },
  [streamPrefix.walletCodes]: {
    WalletCodeRefused: [event({ ...challenge, accountNumber: PayersAccount, attempt: Count })],
  },
  [streamPrefix.walletLogIns]: {
    WalletLogInFailed: [event({ ...payment, device: Nullable(Id), failure: Count })],
    WalletLogInDeviceKnown: [event({ ...payment, device: Id })],
  },
  [streamPrefix.hash]: {
    HashCodeSeen: [event({ merchantId: Id, kind: Kind, amountText: Text, referenceId: Id, at: At })],
  },
  [streamPrefix.wallet]: {
    WalletAccountOpened: [
      event({
        ...walletAccount,
        emailMac: Id,
        email: Sealed,
        phone: Sealed,
        passwordHash: PasswordHash,
        sandbox: Type.Boolean(),
      }),
    ],
    WalletAccountCredited: [event({ ...walletAccount, reference: Id, amountMinor: PositiveMinor })],
    WalletAccountDebited: [event(walletPayment)],
    WalletDebitRefused: [event(walletPayment)],
    WalletDeviceTrusted: [event({ ...walletAccount, device: Id })],
    WalletContactResealed: [event({ ...walletAccount, email: Sealed, phone: Sealed })],
  },
  [streamPrefix.walletEmail]: {
    WalletEmailReserved: [event(walletAccount)],
  },
  [streamPrefix.user]: {
    UserCreated: [event({ ...user, emailMac: Id, email: Sealed, name: Text, ...position, ...password })],
    UserRoleChanged: [event({ ...user, ...position })],
    UserDisabled: [event(user)],
    UserEnabled: [event(user)],
    UserPasswordSet: [event({ ...user, ...password })],
    UserSecondFactorSet: [event({ ...user, secret: Sealed, codeCounter: CodeCounter })],
    UserSecondFactorRemoved: [event(user)],
    UserSignedIn: [event({ ...user, ...proof })],
    UserConfirmed: [event({ ...user, ...proof })],
    UserSessionsEnded: [event(user)],
    UserSecretsResealed: [event({ ...user, email: Sealed, secondFactor: Nullable(Sealed) })],
  },
  [streamPrefix.userEmail]: {
    UserEmailReserved: [event(user)],
  },
  [streamPrefix.userSignIns]: {
    UserSignInFailed: [event({ device: Nullable(Id), failure: Count, at: At })],
    UserSignInDeviceKnown: [event({ device: Id, at: At })],
  },
  [streamPrefix.privacy]: {
    CustomerErased: [
      event({
        erasureId: Id,
        merchantId: Id,
        trackingIds: Type.Array(Id, { maxItems: maxErasedTransfers }),
        reason: Text,
        at: At,
      }),
    ],
    ErasureCompleted: [event({ erasureId: Id, transfers: Type.Integer({ minimum: 0 }), at: At })],
  },
  [streamPrefix.problems]: {
    EventSkipped: [
      event({
        stream: Type.String({ minLength: 1 }),
        revision: Type.Integer({ minimum: 0 }),
        eventId: Id,
        eventType: Text,
        problem: Text,
        reason: Text,
        at: At,
      }),
    ],
  },
  [streamPrefix.masterKeys]: {
    DigestKeySealed: [event({ sealed: Sealed, reason: Nullable(Text), at: At })],
  },
  [streamPrefix.integrity]: {
    IntegrityViolated: [
      event({
        kind: OneOf('log', 'tree', 'checkpoint', 'file'),
        place: Text,
        leafIndex: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
        problem: Text,
        treeSize: Type.Integer({ minimum: 0 }),
        at: At,
      }),
    ],
    PayoutsResumed: [event({ reason: Text, at: At })],
  },
  [streamPrefix.directory]: {
    StreamsListed: [
      event({
        after: Type.Union([Place, Type.Null()]),
        through: Place,
        streams: Type.Array(StreamName, { maxItems: maxListedStreams }),
        at: At,
      }),
    ],
  },
} as const satisfies { readonly [prefix in StreamPrefix]: { readonly [type: string]: readonly TObject[] } }

/** All kinds of streams as one. */
type Merged<Groups> = (Groups extends Groups ? (group: Groups) => void : never) extends (all: infer All) => void
  ? All
  : never

export type EventSchemas = Merged<(typeof schemasByStream)[StreamPrefix]>
export type EventType = keyof EventSchemas

/** `eventSchemas[type][n]` is version n + 1. */
export const eventSchemas: EventSchemas = Object.assign({}, ...Object.values(schemasByStream))
