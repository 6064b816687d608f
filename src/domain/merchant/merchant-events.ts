import { type TObject, type TProperties, Type } from '../../kernel/typebox.js'
import { Data, type EventsOf, Nullable, OneOf, Since, type ValueOf, Versions, versionBefore } from '../event.js'
import { Actor, Count, Id, Index, Minor, Sealed, Text, Time } from '../fields.js'
import { WithdrawalLimitData } from '../withdrawal-limit-schemas.js'
import { scopes } from './api-key.js'

/** A secret that is sealed with the master key. */
export type SealedSecret = ValueOf<typeof Sealed>
const RequireSignature = OneOf('none', 'withdrawals', 'all')
export type RequireSignature = ValueOf<typeof RequireSignature>

const PaymentInstructions = Data({
  paymentMethod: Type.Integer(),
  /** Plain text of several lines. */
  text: Text,
})
export type PaymentInstructions = ValueOf<typeof PaymentInstructions>

const firstSettings = {
  name: Text,
  callbackUrl: Text,
  /** The addresses and CIDR ranges that are allowed to call; no one is if the list is empty. */
  allowIps: Type.Array(Text, { maxItems: 1000 }),
  /** Allows callbacks without TLS, loopback until a live merchant exists, and test wallets. Every page shows that the merchant is a sandbox. */
  sandbox: Type.Boolean(),
  /** Whether deposits with a different amount are cancelled (specification, Events, rule 3). */
  autoCancelMismatch: Type.Boolean(),
  mismatchToleranceMinor: Minor,
  rateLimitPerSecond: Count,
  depositExpiryMinutes: Count,
  minAmountMinor: Minor,
  maxAmountMinor: Minor,
  /** Whether the native create is rejected without a hashCode. */
  requireNativeHash: Type.Boolean(),
  /** The requests that are rejected without a valid X-Signature: creates of withdrawals, or all that change something. */
  requireSignature: RequireSignature,
  /** Whether a creation triggers a callback too. */
  callbackOnCreate: Type.Boolean(),
  /** The URL to which the payment page sends the customer back; null if the page only shows the result. */
  returnUrl: Nullable(Text),
  /** The origins whose pages may show the payment page in a frame; none if the list is empty. */
  frameAncestors: Type.Array(Text, { maxItems: 20 }),
  /** The amount above which a deposit needs manual review before it is completed; null for none. */
  manualControlAboveMinor: Nullable(Minor),
  /** The payment page's instructions for manual payment methods; at most one entry per method. */
  paymentInstructions: Type.Array(PaymentInstructions, { maxItems: 50 }),
  /** The amount above which a second person must approve a withdrawal before it is completed; null for none. */
  approvalAboveMinor: Nullable(Minor),
}
const MerchantSettings = Data({
  ...firstSettings,
  /** The limits above which a second person must approve a withdrawal; at most one for each scope and period. */
  withdrawalLimits: Type.Array(WithdrawalLimitData, { maxItems: 6 }),
  /** Whether `approvalAboveMinor` also applies to the sum of the merchant's withdrawals in 24 hours. */
  approvalOverDay: Type.Boolean(),
  /** Whether money that is returned to a customer, or comes back from a payout, triggers a callback. */
  callbackOnMoney: Type.Boolean(),
})
/** The later settings of a merchant that was registered with the first ones. */
const laterSettings = { withdrawalLimits: [], approvalOverDay: false, callbackOnMoney: false }
export type MerchantSettings = ValueOf<typeof MerchantSettings>
const merchant = { merchantId: Id, at: Time }
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
/** The previous credential stays valid until `previousValidUntil`. */
const rotation = { ...merchant, previousValidUntil: Time }
/** 0 for the SecretKey that the merchant is registered with, one more with each rotation. */
const SecretKeyNumber = Index

const registration = { apiKeySha256: Sha256, secretKey: Sealed, webhookSecret: Sealed }
const thresholdProposal = {
  ...merchant,
  by: Actor,
  /** The present one if only limits are proposed. */
  approvalAboveMinor: Nullable(Minor),
  /** Null if the limits stay. */
  withdrawalLimits: Since(2, MerchantSettings.properties.withdrawalLimits),
  approvalOverDay: Since(2, MerchantSettings.properties.approvalOverDay),
}
const SettingsChanges = <Properties extends TProperties>(settings: TObject<Properties>) =>
  Data({ ...merchant, changes: Type.Partial(settings, { additionalProperties: false }) })

/** The events of a merchant, in `merchant-<merchantId>`. API keys appear only as SHA-256 digests. */
export const merchantEvents = {
  MerchantRegistered: Versions(
    [
      {
        schema: Data({ ...merchant, settings: Data(firstSettings), ...registration }),
        upcast: (data) => ({ ...data, settings: { ...(data.settings as object), ...laterSettings } }),
      },
    ],
    Data({ ...merchant, settings: MerchantSettings, ...registration }),
  ),
  MerchantSettingsChanged: Versions(
    [{ schema: SettingsChanges(Data(firstSettings)), upcast: (data) => data }],
    SettingsChanges(MerchantSettings),
  ),
  /**
   * `by` wants to raise or remove the threshold or limits. They stay until a second administrator confirms, which changes the settings. The
   * next proposal replaces it.
   */
  ApprovalThresholdProposed: Versions([versionBefore(2, thresholdProposal)], Data(thresholdProposal)),
  /** The main key was replaced: the one that a merchant is registered with, with the usual scopes and no expiry. */
  ApiKeyRotated: Data({ ...rotation, apiKeySha256: Sha256 }),
  ApiKeyCreated: Data({
    ...merchant,
    name: Text,
    apiKeySha256: Sha256,
    validUntil: Nullable(Time),
    scopes: Type.Array(OneOf(...scopes), { minItems: 1, uniqueItems: true }),
  }),
  ApiKeyRevoked: Data({ ...merchant, keyId: Type.String({ pattern: '^[0-9a-f]{12}$' }) }),
  SecretKeyRotated: Data({ ...rotation, secretKey: Sealed }),
  /** The merchant used a newer SecretKey, so callbacks are no longer hashed with an older one. */
  SecretKeyTakenUp: Data({ ...merchant, number: SecretKeyNumber }),
  WebhookSecretRotated: Data({ ...rotation, webhookSecret: Sealed }),
  /** The same secrets, sealed with a different master key. */
  MerchantSecretsResealed: Data({
    ...merchant,
    secretKeys: Type.Array(Data({ number: SecretKeyNumber, secretKey: Sealed }), { minItems: 1, maxItems: 100 }),
    webhookSecret: Sealed,
    previousWebhookSecret: Nullable(Sealed),
  }),
  /** The payment page shows the stored file with this digest; null for none. */
  MerchantLogoChanged: Data({ ...merchant, sha256: Nullable(Sha256) }),
  MerchantSuspended: Data(merchant),
  MerchantResumed: Data(merchant),
  CallbackEndpointDisabled: Data({ ...merchant, reason: Text }),
  CallbackEndpointEnabled: Data(merchant),
}

export type MerchantEvent = EventsOf<typeof merchantEvents>
