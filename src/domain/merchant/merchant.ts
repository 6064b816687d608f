import type { DataOf } from '../event.js'
import { type ApiKey, apiKeyId, isApiKeyValid, mainKey, rotateMainKey } from './api-key.js'
import type { MerchantEvent, MerchantSettings, SealedSecret } from './merchant-events.js'
import { firstSecretKey, resealSecretKeys, rotateSecretKey, type SecretKeys } from './secret-keys.js'

/** A credential and, while it is being rotated, the previous one. */
export interface Rotating<Value> {
  readonly current: Value
  readonly previous?: { readonly value: Value; readonly validUntil: string }
}

export interface Merchant {
  readonly merchantId: string
  readonly settings: MerchantSettings
  /** The keys, the main key first. Expired keys are removed when the next one is created. */
  readonly apiKeys: readonly ApiKey[]
  readonly secretKeys: SecretKeys
  readonly webhookSecret: Rotating<SealedSecret>
  readonly suspended: boolean
  /** Why callbacks are held back; null while they are sent. */
  readonly callbacksDisabled: string | null
  readonly createdAt: string
}

export type MerchantState = { readonly merchantId: null } | Merchant

export const initialState: MerchantState = { merchantId: null }

export function evolve(state: MerchantState, event: MerchantEvent): MerchantState {
  if (event.type === 'MerchantRegistered') {
    const { apiKeySha256, secretKey, webhookSecret, at, merchantId, settings } = event.data
    return {
      merchantId,
      settings,
      apiKeys: [mainKey(apiKeySha256, at)],
      secretKeys: firstSecretKey(secretKey),
      webhookSecret: { current: webhookSecret },
      suspended: false,
      callbacksDisabled: null,
      createdAt: at,
    }
  }
  if (state.merchantId === null) throw new Error('a merchant changed before it was registered')
  switch (event.type) {
    case 'MerchantSettingsChanged':
      return { ...state, settings: { ...state.settings, ...event.data.changes } }
    case 'ApiKeyRotated':
      return { ...state, apiKeys: rotateMainKey(state.apiKeys, event.data) }
    case 'ApiKeyCreated': {
      const { name, apiKeySha256: sha256, scopes, validUntil, at: createdAt } = event.data
      const valid = state.apiKeys.filter((key) => isApiKeyValid(key, createdAt))
      return { ...state, apiKeys: [...valid, { sha256, name, scopes, validUntil, createdAt }] }
    }
    case 'ApiKeyRevoked':
      return { ...state, apiKeys: state.apiKeys.filter((key) => apiKeyId(key) !== event.data.keyId) }
    case 'SecretKeyRotated':
      return { ...state, secretKeys: rotateSecretKey(state.secretKeys, event.data) }
    case 'SecretKeyTakenUp':
      return { ...state, secretKeys: { ...state.secretKeys, takenUp: event.data.number } }
    case 'WebhookSecretRotated':
      return { ...state, webhookSecret: rotate(state.webhookSecret, event.data.webhookSecret, event.data) }
    case 'MerchantSecretsResealed':
      return { ...state, ...resealed(state, event.data) }
    case 'MerchantSuspended':
      return { ...state, suspended: true }
    case 'MerchantResumed':
      return { ...state, suspended: false }
    case 'CallbackEndpointDisabled':
      return { ...state, callbacksDisabled: event.data.reason }
    case 'CallbackEndpointEnabled':
      return { ...state, callbacksDisabled: null }
    default:
      return event satisfies never
  }
}

function resealed(
  { secretKeys, webhookSecret: { previous } }: Merchant,
  data: DataOf<MerchantEvent, 'MerchantSecretsResealed'>,
) {
  const { webhookSecret: current, previousWebhookSecret } = data
  const resealed = previous && { ...previous, value: previousWebhookSecret ?? previous.value }
  return {
    secretKeys: resealSecretKeys(secretKeys, data.secretKeys),
    webhookSecret: { current, ...(resealed && { previous: resealed }) },
  }
}

function rotate<Value>(
  before: Rotating<Value>,
  current: Value,
  event: { readonly previousValidUntil: string; readonly at: string },
): Rotating<Value> {
  if (event.previousValidUntil <= event.at) return { current }
  return { current, previous: { value: before.current, validUntil: event.previousValidUntil } }
}

/** Returns the values that are valid at that time, the current one first. */
export function validValues<Value>(rotating: Rotating<Value>, at: string): Value[] {
  const { current, previous } = rotating
  return previous && at < previous.validUntil ? [current, previous.value] : [current]
}
