import type { TObject, TProperties } from '@sinclair/typebox'
import { type StreamPrefix, streamPrefix } from '../domain/streams.js'
import { Type } from '../schema/typebox.js'

/**
 * The storage format: one schema for each event type and version. A version is never edited once released; a new one is
 * added with an upcaster from the one before (event-upcasters.ts). Golden JSON of each is in test/fixtures/events.
 */

/** An amount in minor units, as decimal digits: JSON has no 64-bit integers. Fields that hold one end in `Minor`. */
const Minor = Type.String({ pattern: '^(0|[1-9]\\d{0,14})$' })
/** Of a field that is never 0: the last guard against a transfer of nothing. */
const PositiveMinor = Type.String({ pattern: '^[1-9]\\d{0,14}$' })
const Id = Type.String({ minLength: 1, maxLength: 64 })
const Text = Type.String({ maxLength: 2048 })
/** What `Date.toISOString` prints, and nothing else: expiry and rotation compare times as text. */
const At = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' })
const Nullable = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])
const OneOf = <Name extends string>(...names: Name[]) => Type.Union(names.map((name) => Type.Literal(name)))
/** From 1. */
const Count = Type.Integer({ minimum: 1 })
const event = <T extends TProperties>(properties: T): TObject<T> =>
  Type.Object(properties, { additionalProperties: false })

const Kind = OneOf('deposit', 'withdrawal')
const transfer = {
  trackingId: Id,
  merchantId: Id,
  kind: Kind,
  referenceId: Id,
  amountMinor: PositiveMinor,
  at: At,
}
const customer = { userId: Text, name: Text, username: Text, paymentMethod: Type.Integer() }
const deposit = { channel: OneOf('hosted', 'native'), expiresAt: At }
const withdrawal = { accountNumber: Text, identityNumber: Nullable(Text) }
const completion = {
  transactionAmountMinor: PositiveMinor,
  hasAmountMismatch: Type.Boolean(),
  receiptUrl: Nullable(Text),
  message: Nullable(Text),
}
const cancellationV1 = { message: Nullable(Text), transactionAmountMinor: Minor, hasAmountMismatch: Type.Boolean() }
const cancellation = {
  ...cancellationV1,
  receiptUrl: Nullable(Text),
  autoCancelledAmountMinor: Nullable(PositiveMinor),
}
const receipt = { receivedAmountMinor: PositiveMinor, receiptUrl: Nullable(Text) }

const Sealed = Type.String({ pattern: '^v1\\.' })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

const settingsV1 = {
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
  requireSignature: Type.Boolean(),
  callbackOnCreate: Type.Boolean(),
}
const settingsV2 = {
  ...settingsV1,
  returnUrl: Nullable(Text),
  frameAncestors: Type.Array(Text, { maxItems: 20 }),
  manualControlAboveMinor: Nullable(Minor),
}
const settings = {
  ...settingsV2,
  requireSignature: OneOf('none', 'withdrawals', 'all'),
  paymentInstructions: Type.Array(event({ paymentMethod: Type.Integer(), text: Text }), { maxItems: 50 }),
}
const credentials = { apiKeySha256: Sha256, secretKey: Sealed, webhookSecret: Sealed }
const merchant = { merchantId: Id, at: At }
const rotation = { ...merchant, previousValidUntil: At }

const callback = { webhookId: Id, trackingId: Id, merchantId: Id, at: At }
const attempt = {
  ...callback,
  attempt: Count,
  httpStatus: Type.Union([Type.Integer(), Type.Null()]),
  durationMs: Type.Number({ minimum: 0 }),
}

const AccountNumber = Type.Integer({ minimum: 1, maximum: 999_999_999_999 })
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

/** Every version of every event type, oldest first, by how the names of the streams begin that hold it. */
export const schemasByStream = {
  [streamPrefix.transfer]: {
    DepositCreated: [
      event({ ...transfer, ...customer, ...deposit }),
      event({ ...transfer, ...customer, told: Type.Boolean(), ...deposit }),
    ],
    WithdrawalCreated: [
      event({ ...transfer, ...customer, ...withdrawal }),
      event({ ...transfer, ...customer, told: Type.Boolean(), ...withdrawal }),
    ],
    TransferCompleted: [
      event({ ...transfer, ...completion }),
      event({ ...transfer, ...completion, reason: Nullable(Text) }),
    ],
    TransferSentToManualControl: [event({ ...transfer, message: Nullable(Text) })],
    TransferCancelled: [
      event({ ...transfer, ...cancellationV1 }),
      event({ ...transfer, ...cancellation }),
      event({ ...transfer, ...cancellation, reason: OneOf('requested', 'expired', 'amount-mismatch') }),
    ],
    TransferFailed: [event({ ...transfer, message: Nullable(Text) })],
    LateFundsReceived: [
      event({ ...transfer, ...receipt }),
      event({ ...transfer, ...receipt, hasAmountMismatch: Type.Boolean() }),
    ],
    TransferReopened: [event({ ...transfer, reason: Text })],
    FundsReturned: [
      event({ ...transfer, returnedAmountMinor: PositiveMinor, receiptUrl: Text, hasAmountMismatch: Type.Boolean() }),
    ],
    AttentionResolved: [event({ ...transfer, resolvedAmountMinor: Minor, reason: Text })],
  },
  [streamPrefix.merchant]: {
    MerchantRegistered: [
      event({ ...merchant, settings: event(settingsV1), ...credentials }),
      event({ ...merchant, settings: event(settingsV2), ...credentials }),
      event({ ...merchant, settings: event(settings), ...credentials, requestsClaimed: Type.Boolean() }),
    ],
    MerchantSettingsChanged: [
      event({ ...merchant, changes: Type.Partial(event(settingsV1), { additionalProperties: false }) }),
      event({ ...merchant, changes: Type.Partial(event(settingsV2), { additionalProperties: false }) }),
      event({ ...merchant, changes: Type.Partial(event(settings), { additionalProperties: false }) }),
    ],
    ApiKeyRotated: [event({ ...rotation, apiKeySha256: Sha256 })],
    ApiKeyCreated: [
      event({
        ...merchant,
        name: Text,
        apiKeySha256: Sha256,
        scopes: Type.Array(OneOf('read', 'deposits', 'withdrawals'), {
          minItems: 1,
          uniqueItems: true,
        }),
        validUntil: Nullable(At),
      }),
    ],
    ApiKeyRevoked: [event({ ...merchant, keyId: Type.String({ pattern: '^[0-9a-f]{12}$' }) })],
    SecretKeyRotated: [
      event({ ...rotation, secretKey: Sealed }),
      event({ ...rotation, secretKey: Sealed, gradual: Type.Boolean() }),
    ],
    SecretKeyTakenUp: [event({ ...merchant, number: Type.Integer({ minimum: 0 }) })],
    WebhookSecretRotated: [event({ ...rotation, webhookSecret: Sealed })],
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
    CallbackSweepAdvanced: [
      event({ position: Type.String({ pattern: '^\\d{1,19}(/\\d{1,19})?$' }), at: At }),
      event({
        event: Type.Union([
          event({ stream: Type.String({ minLength: 1 }), revision: Type.Integer({ minimum: 0 }) }),
          Type.Null(),
        ]),
        at: At,
      }),
    ],
    CallbackEndpointFailing: [event({ ...merchant, since: At })],
    CallbackEndpointRecovered: [event(merchant)],
  },
  [streamPrefix.payment]: {
    WalletLoggedIn: [event({ ...challenge, accountNumber: AccountNumber })],
    WalletCodeAttempted: [event({ ...challenge, attempt: Count })],
    WalletCodeVerified: [event(challenge)],
    WalletDeviceQuestioned: [event({ ...challenge, expiresAt: At })],
    WalletDeviceConfirmed: [event(challenge)],
    WalletCollectionStarted: [
      event({ ...challenge, collection: Count, accountNumber: AccountNumber, amountMinor: PositiveMinor }),
    ],
    WalletCollectionEnded: [
      event({ ...payment, ...ending, reason: Nullable(Text) }),
      event({
        ...payment,
        ...ending,
        reason: Type.Union([OneOf('insufficient-balance', 'account-blocked'), Type.Null()]),
      }),
    ],
  },
  [streamPrefix.walletCodes]: {
    WalletCodeRefused: [event({ ...challenge, accountNumber: AccountNumber, attempt: Count })],
  },
  [streamPrefix.walletLogIns]: {
    WalletLogInFailed: [event({ ...payment, device: Nullable(Id), failure: Count })],
    WalletLogInDeviceKnown: [event({ ...payment, device: Id })],
  },
  [streamPrefix.hash]: {
    HashCodeSeen: [
      event({ merchantId: Id, amountText: Text, referenceId: Id, at: At }),
      event({
        merchantId: Id,
        kind: Type.Union([Kind, Type.Null()]),
        amountText: Text,
        referenceId: Id,
        hashId: Nullable(Id),
        at: At,
      }),
    ],
  },
  [streamPrefix.wallet]: {
    WalletAccountOpened: [
      event({
        ...walletAccount,
        emailMac: Id,
        email: Sealed,
        phone: Sealed,
        passwordHash: Type.String({ pattern: '^\\$argon2id\\$' }),
        sandbox: Type.Boolean(),
      }),
    ],
    WalletAccountCredited: [event({ ...walletAccount, reference: Id, amountMinor: PositiveMinor })],
    WalletAccountDebited: [event(walletPayment)],
    WalletDebitRefused: [event(walletPayment)],
    WalletDeviceTrusted: [event({ ...walletAccount, device: Id })],
  },
  [streamPrefix.walletEmail]: {
    WalletEmailReserved: [event(walletAccount)],
  },
  [streamPrefix.problems]: {
    EventPassedOver: [
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
} as const satisfies { readonly [prefix in StreamPrefix]: { readonly [type: string]: readonly TObject[] } }

/** All kinds of streams as one. */
type Merged<Groups> = (Groups extends Groups ? (group: Groups) => void : never) extends (all: infer All) => void
  ? All
  : never

export type EventSchemas = Merged<(typeof schemasByStream)[StreamPrefix]>
export type EventType = keyof EventSchemas

/** `eventSchemas[type][n]` is version n + 1. */
export const eventSchemas: EventSchemas = Object.assign({}, ...Object.values(schemasByStream))
