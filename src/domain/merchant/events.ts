import type { Scope } from './api-key.js'

/** What happens to a merchant. Secrets appear only sealed (docs/decisions) and API keys only as SHA-256 digests. */

export interface MerchantSettings {
  readonly name: string
  readonly callbackUrl: string
  /** Addresses and CIDR ranges that may call; nobody when empty. */
  readonly allowIps: readonly string[]
  /** May use loopback callbacks without TLS, test wallets, and is named as such on every page. */
  readonly sandbox: boolean
  /** Cancels deposits whose amount differs (specification, Events, rule 3). */
  readonly autoCancelMismatch: boolean
  readonly mismatchToleranceMinor: bigint
  /** A deposit of more is not completed before a person has looked at it; null: none. */
  readonly manualControlAboveMinor: bigint | null
  readonly rateLimitPerSecond: number
  /** 15 to 1440. */
  readonly depositExpiryMinutes: number
  readonly minAmountMinor: bigint
  readonly maxAmountMinor: bigint
  /** The native create is refused without a hashCode. */
  readonly requireNativeHash: boolean
  /** The creates that are refused without a valid X-Signature. */
  readonly requireSignature: RequireSignature
  /** Sends a callback for the creation too. */
  readonly callbackOnCreate: boolean
  /** Where the payment page sends the customer back to; null when it can only say so. */
  readonly returnUrl: string | null
  /** Origins whose pages may show the payment page in a frame; nobody's when empty. */
  readonly frameAncestors: readonly string[]
  /** What the payment page tells customers of manual payment methods; at most one for each. */
  readonly paymentInstructions: readonly PaymentInstructions[]
}

export type RequireSignature = 'none' | 'withdrawals' | 'all'

export interface PaymentInstructions {
  /** A code of the catalogue. */
  readonly paymentMethod: number
  /** Plain text of several lines. */
  readonly text: string
}

/** AES-256-GCM envelope in text form: `v1.<key id>.<iv>.<ciphertext>.<tag>`, base64url. */
export type SealedSecret = string

export interface MerchantRegistered {
  readonly type: 'MerchantRegistered'
  readonly data: {
    readonly merchantId: string
    readonly settings: MerchantSettings
    readonly apiKeySha256: string
    readonly secretKey: SealedSecret
    readonly webhookSecret: SealedSecret
    /** All of its requests claimed the texts their hashes are made of; false for merchants of before there were claims. */
    readonly requestsClaimed: boolean
    readonly at: string
  }
}

export interface MerchantSettingsChanged {
  readonly type: 'MerchantSettingsChanged'
  readonly data: { readonly merchantId: string; readonly changes: Partial<MerchantSettings>; readonly at: string }
}

/** The credential before it stays valid until `previousValidUntil` (ISO 8601). */
interface Rotation {
  readonly merchantId: string
  readonly previousValidUntil: string
  readonly at: string
}

/** Of the main key, the one a merchant is registered with: it has all scopes and no expiry. */
export interface ApiKeyRotated {
  readonly type: 'ApiKeyRotated'
  readonly data: Rotation & { readonly apiKeySha256: string }
}

/** Another key beside those there are. */
export interface ApiKeyCreated {
  readonly type: 'ApiKeyCreated'
  readonly data: {
    readonly merchantId: string
    readonly name: string
    readonly apiKeySha256: string
    readonly scopes: readonly Scope[]
    readonly validUntil: string | null
    readonly at: string
  }
}

export interface ApiKeyRevoked {
  readonly type: 'ApiKeyRevoked'
  readonly data: { readonly merchantId: string; readonly keyId: string; readonly at: string }
}

export interface SecretKeyRotated {
  readonly type: 'SecretKeyRotated'
  readonly data: Rotation & {
    readonly secretKey: SealedSecret
    /**
     * Callbacks change to it when the merchant does, and those before the one before stay valid until their own times. False in
     * version 1, when callbacks changed at once.
     */
    readonly gradual: boolean
  }
}

/** The merchant was seen to use a SecretKey: callbacks are not hashed with an older one any more. */
export interface SecretKeyTakenUp {
  readonly type: 'SecretKeyTakenUp'
  /** `number`: 0 for the SecretKey the merchant is registered with, one more with each rotation. */
  readonly data: { readonly merchantId: string; readonly number: number; readonly at: string }
}

export interface WebhookSecretRotated {
  readonly type: 'WebhookSecretRotated'
  readonly data: Rotation & { readonly webhookSecret: SealedSecret }
}

export interface MerchantSuspended {
  readonly type: 'MerchantSuspended'
  readonly data: { readonly merchantId: string; readonly at: string }
}

export interface MerchantResumed {
  readonly type: 'MerchantResumed'
  readonly data: { readonly merchantId: string; readonly at: string }
}

export interface CallbackEndpointDisabled {
  readonly type: 'CallbackEndpointDisabled'
  readonly data: { readonly merchantId: string; readonly reason: string; readonly at: string }
}

export interface CallbackEndpointEnabled {
  readonly type: 'CallbackEndpointEnabled'
  readonly data: { readonly merchantId: string; readonly at: string }
}

export type MerchantEvent =
  | MerchantRegistered
  | MerchantSettingsChanged
  | ApiKeyRotated
  | ApiKeyCreated
  | ApiKeyRevoked
  | SecretKeyRotated
  | SecretKeyTakenUp
  | WebhookSecretRotated
  | MerchantSuspended
  | MerchantResumed
  | CallbackEndpointDisabled
  | CallbackEndpointEnabled
