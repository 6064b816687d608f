import type { EventsOf } from '../event.js'
import type { Scope } from './api-key.js'
import type { MerchantSettings } from './merchant-settings.js'

/** What happens to a merchant. Secrets appear only sealed (docs/decisions) and API keys only as SHA-256 digests. */

/** AES-256-GCM envelope in text form: `v1.<key id>.<iv>.<ciphertext>.<tag>`, base64url. */
export type SealedSecret = string

interface Common {
  readonly merchantId: string
  /** ISO 8601, by the service's clock. */
  readonly at: string
}

/** The credential before it stays valid until `previousValidUntil` (ISO 8601). */
interface Rotation extends Common {
  readonly previousValidUntil: string
}

interface MerchantData {
  MerchantRegistered: Common & {
    settings: MerchantSettings
    apiKeySha256: string
    secretKey: SealedSecret
    webhookSecret: SealedSecret
  }
  MerchantSettingsChanged: Common & { changes: Partial<MerchantSettings> }
  /** Of the main key, the one a merchant is registered with: it has the usual scopes and no expiry. */
  ApiKeyRotated: Rotation & { apiKeySha256: string }
  /** Another key beside those there are. */
  ApiKeyCreated: Common & {
    name: string
    apiKeySha256: string
    scopes: readonly Scope[]
    validUntil: string | null
  }
  ApiKeyRevoked: Common & { keyId: string }
  SecretKeyRotated: Rotation & { secretKey: SealedSecret }
  /**
   * The merchant was seen to use a SecretKey: callbacks are not hashed with an older one any more. `number`: 0 for the SecretKey the
   * merchant is registered with, one more with each rotation.
   */
  SecretKeyTakenUp: Common & { number: number }
  WebhookSecretRotated: Rotation & { webhookSecret: SealedSecret }
  /** The same secrets under another master key; nothing else changes. */
  MerchantSecretsResealed: Common & {
    /** Of those there are; `number` as in SecretKeyTakenUp. */
    secretKeys: readonly { readonly number: number; readonly secretKey: SealedSecret }[]
    webhookSecret: SealedSecret
    /** Null where there is none before it. */
    previousWebhookSecret: SealedSecret | null
  }
  MerchantSuspended: Common
  MerchantResumed: Common
  CallbackEndpointDisabled: Common & { reason: string }
  CallbackEndpointEnabled: Common
}

export type MerchantEvent = EventsOf<MerchantData>
