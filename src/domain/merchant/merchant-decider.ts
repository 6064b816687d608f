import { accept, type Decider, type Decision, refuse, refuseField } from '../../kernel/decision.js'
import { violate } from '../../kernel/rules.js'
import type { DataOf } from '../event.js'
import { type ApiKey, apiKeyId, isApiKeyValid, mainKeyName, maxApiKeys } from './api-key.js'
import { evolve, initialState, type Merchant, type MerchantState } from './merchant.js'
import type { MerchantEvent, MerchantSettings, SealedSecret } from './merchant-events.js'
import { callbackSecretKey } from './secret-keys.js'

type Data<Type extends MerchantEvent['type']> = DataOf<MerchantEvent, Type>
type OfMerchant<Type extends MerchantEvent['type']> = Omit<Data<Type>, 'merchantId'>

export type MerchantCommand =
  | ({ readonly type: 'Register' } & Data<'MerchantRegistered'>)
  | ({ readonly type: 'ChangeSettings' } & OfMerchant<'MerchantSettingsChanged'>)
  | ({ readonly type: 'RotateApiKey' } & OfMerchant<'ApiKeyRotated'>)
  | ({ readonly type: 'CreateApiKey'; readonly at: string } & Omit<ApiKey, 'createdAt'>)
  | ({ readonly type: 'RevokeApiKey' } & OfMerchant<'ApiKeyRevoked'>)
  | ({ readonly type: 'RotateSecretKey' } & OfMerchant<'SecretKeyRotated'>)
  | ({ readonly type: 'TakeUpSecretKey' } & OfMerchant<'SecretKeyTakenUp'>)
  | ({ readonly type: 'RotateWebhookSecret' } & OfMerchant<'WebhookSecretRotated'>)
  /** Replaces each sealed text by the value of the map. A text that is not a key of the map is unchanged. */
  | { readonly type: 'Reseal'; readonly resealed: ReadonlyMap<SealedSecret, SealedSecret>; readonly at: string }
  | { readonly type: 'Suspend' | 'Resume' | 'EnableCallbacks'; readonly at: string }
  | ({ readonly type: 'DisableCallbacks' } & OfMerchant<'CallbackEndpointDisabled'>)

export const merchantDecider: Decider<MerchantState, MerchantCommand, MerchantEvent> = { initialState, decide, evolve }

export function decide(command: MerchantCommand, state: MerchantState): Decision<MerchantEvent> {
  if (command.type === 'Register') {
    const { type: _, ...data } = command
    return state.merchantId === null
      ? accept({ type: 'MerchantRegistered', data })
      : refuse('conflict', 'merchant-exists')
  }
  if (state.merchantId === null) return refuse('not-found', 'unknown-merchant')
  const { merchantId } = state
  const { at } = command
  switch (command.type) {
    case 'ChangeSettings': {
      const changes = changed(state.settings, command.changes)
      if (Object.keys(changes).length === 0) return accept()
      return accept({ type: 'MerchantSettingsChanged', data: { merchantId, changes, at } })
    }
    case 'RotateApiKey': {
      const { type: _, ...rotation } = command
      return accept({ type: 'ApiKeyRotated', data: { merchantId, ...rotation } })
    }
    case 'CreateApiKey':
      return createApiKey(command, state)
    case 'RevokeApiKey': {
      const { keyId } = command
      return state.apiKeys.some((key) => apiKeyId(key) === keyId)
        ? accept({ type: 'ApiKeyRevoked', data: { merchantId, keyId, at } })
        : refuse('not-found', 'api-key-unknown')
    }
    case 'RotateSecretKey': {
      const { type: _, ...rotation } = command
      return accept({ type: 'SecretKeyRotated', data: { merchantId, ...rotation } })
    }
    case 'TakeUpSecretKey': {
      const { number } = command
      // Recorded once per SecretKey.
      if (callbackSecretKey(state.secretKeys, at).number >= number) return accept()
      return accept({ type: 'SecretKeyTakenUp', data: { merchantId, number, at } })
    }
    case 'RotateWebhookSecret': {
      const { type: _, ...rotation } = command
      return accept({ type: 'WebhookSecretRotated', data: { merchantId, ...rotation } })
    }
    case 'Reseal':
      return reseal(command, state)
    case 'Suspend':
      return state.suspended ? accept() : accept({ type: 'MerchantSuspended', data: { merchantId, at } })
    case 'Resume':
      return state.suspended ? accept({ type: 'MerchantResumed', data: { merchantId, at } }) : accept()
    case 'DisableCallbacks':
      if (state.callbacksDisabled !== null) return accept()
      return accept({ type: 'CallbackEndpointDisabled', data: { merchantId, reason: command.reason, at } })
    case 'EnableCallbacks':
      if (state.callbacksDisabled === null) return accept()
      return accept({ type: 'CallbackEndpointEnabled', data: { merchantId, at } })
    default:
      return command satisfies never
  }
}

function reseal(
  { resealed, at }: Extract<MerchantCommand, { type: 'Reseal' }>,
  { merchantId, secretKeys, webhookSecret: { current, previous } }: Merchant,
): Decision<MerchantEvent> {
  const sealed = [...secretKeys.all.map((key) => key.sealed), current, ...(previous ? [previous.value] : [])]
  if (!sealed.some((text) => resealed.has(text))) return accept()
  const replace = (text: SealedSecret) => resealed.get(text) ?? text
  const data = {
    secretKeys: secretKeys.all.map((key) => ({ number: key.number, secretKey: replace(key.sealed) })),
    webhookSecret: replace(current),
    previousWebhookSecret: previous ? replace(previous.value) : null,
  }
  return accept({ type: 'MerchantSecretsResealed', data: { merchantId, ...data, at } })
}

function createApiKey(
  { sha256, name, scopes, validUntil, at }: Extract<MerchantCommand, { type: 'CreateApiKey' }>,
  { merchantId, apiKeys }: Merchant,
): Decision<MerchantEvent> {
  const valid = apiKeys.filter((key) => isApiKeyValid(key, at))
  const isTaken = name === mainKeyName || valid.some((key) => key.name === name)
  if (isTaken) return refuse('conflict', 'api-key-name-taken')
  if (valid.length >= maxApiKeys) return refuse('conflict', 'too-many-api-keys', { most: maxApiKeys })
  if (validUntil !== null && validUntil <= at) return refuseField('validUntil', violate('time-passed'))
  return accept({ type: 'ApiKeyCreated', data: { merchantId, name, apiKeySha256: sha256, scopes, validUntil, at } })
}

function changed(settings: MerchantSettings, changes: Partial<MerchantSettings>): Partial<MerchantSettings> {
  const entries = Object.entries(changes).filter(
    ([name, value]) => !same(value, settings[name as keyof MerchantSettings]),
  )
  return Object.fromEntries(entries)
}

function same(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  // The items are texts, or objects of texts and numbers whose fields always have the same order.
  return JSON.stringify(a) === JSON.stringify(b)
}
