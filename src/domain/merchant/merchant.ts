import { accept, type Decider, type Decision, refuse, refuseField, violate } from '../../kernel/rules.js'
import type { DataOf } from '../event.js'
import { type ApiKey, apiKeyId, isApiKeyValid, mainKey, mainKeyName, maxApiKeys, rotateMainKey } from './api-key.js'
import type { MerchantEvent, MerchantSettings, SealedSecret } from './merchant-events.js'

export interface SecretKey {
  /** 0 for the SecretKey that the merchant is registered with, one more with each rotation. */
  readonly number: number
  readonly sealed: SealedSecret
  /** The end of its validity; null for the current SecretKey. */
  readonly validUntil: string | null
}

/** A merchant's SecretKeys. A request can use any valid one. */
export interface SecretKeys {
  /** The SecretKeys, newest first. */
  readonly all: readonly [SecretKey, ...SecretKey[]]
  /** The number of the newest SecretKey that the merchant is known to use. */
  readonly takenUp: number
}

/** The largest number of SecretKeys: each request is compared with all valid ones. The oldest is removed first. */
const maxSecretKeys = 4

export function firstSecretKey(sealed: SealedSecret): SecretKeys {
  return { all: [{ number: 0, sealed, validUntil: null }], takenUp: 0 }
}

/**
 * Rotates the SecretKey. The previous one stays valid until `previousValidUntil`, and older ones until their own ends, which were promised to
 * the merchant. Without an overlap, all of them end.
 */
export function rotateSecretKey(
  { all, takenUp }: SecretKeys,
  next: Omit<DataOf<MerchantEvent, 'SecretKeyRotated'>, 'merchantId'>,
): SecretKeys {
  const { secretKey: sealed, previousValidUntil, at } = next
  const [before, ...earlier] = all
  const current = { number: before.number + 1, sealed, validUntil: null }
  if (previousValidUntil <= at) return { all: [current], takenUp }
  const previous = { ...before, validUntil: previousValidUntil }
  const kept = earlier.filter((key) => isValid(key, at)).slice(0, maxSecretKeys - 2)
  return { all: [current, previous, ...kept], takenUp }
}

/** Replaces the sealed texts by ones that are sealed with a different master key. */
export function resealSecretKeys(
  { all: [first, ...others], takenUp }: SecretKeys,
  resealed: readonly { readonly number: number; readonly secretKey: SealedSecret }[],
): SecretKeys {
  const sealedOf = new Map(resealed.map(({ number, secretKey }) => [number, secretKey]))
  const reseal = (key: SecretKey) => ({ ...key, sealed: sealedOf.get(key.number) ?? key.sealed })
  return { all: [reseal(first), ...others.map(reseal)], takenUp }
}

/** Returns the valid SecretKeys, newest first. */
export function validSecretKeys({ all }: SecretKeys, at: string): readonly SecretKey[] {
  // The usual case: no rotation is in progress.
  return all.length === 1 ? all : all.filter((key) => isValid(key, at))
}

/**
 * Returns the SecretKey that callbacks are hashed with: the oldest valid one, but none older than one that the merchant is known to use. A
 * receiver that checks only the HashCode has one SecretKey, and replaces it when the merchant does.
 */
export function callbackSecretKey(keys: SecretKeys, at: string): SecretKey {
  return validSecretKeys(keys, at).findLast(({ number }) => number >= keys.takenUp) ?? keys.all[0]
}

function isValid({ validUntil }: SecretKey, at: string): boolean {
  return validUntil === null || at < validUntil
}

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
