import { accept, type Decider, type Decision, refuse, refuseField, violate } from '../decider.js'
import type { DataOf } from '../event.js'
import { areLooser } from '../withdrawal-limits.js'
import { type ApiKey, apiKeyId, isApiKeyValid, mainKey, mainKeyName, maxApiKeys, rotateMainKey } from './api-key.js'
import type { MerchantEvent, MerchantSettings, SealedSecret } from './merchant-events.js'

/** A credential and, while it is being rotated, the previous one. */
interface Rotating<Value> {
  readonly current: Value
  readonly previous?: { readonly value: Value; readonly validUntil: string }
}

interface SecretKey {
  /** 0 for the SecretKey that the merchant is registered with, one more with each rotation. */
  readonly number: number
  readonly sealed: SealedSecret
  /** The end of its validity; null for the current SecretKey. */
  readonly validUntil: string | null
}

/** A merchant's SecretKeys. A request can use any valid one. */
interface SecretKeys {
  readonly all: readonly [SecretKey, ...SecretKey[]]
  /** The number of the newest SecretKey that the merchant is known to use. */
  readonly takenUp: number
}

export interface Merchant {
  readonly merchantId: string
  readonly settings: MerchantSettings
  /** The keys, the main key first. Expired keys are removed when the next one is created. */
  readonly apiKeys: readonly ApiKey[]
  readonly secretKeys: SecretKeys
  readonly webhookSecret: Rotating<SealedSecret>
  readonly suspended: boolean
  /** The digest of the logo on the payment page; null for none. */
  readonly logoSha256: string | null
  /** The higher threshold or limits that wait for the confirmation of a second administrator. */
  readonly proposedThreshold: OfMerchant<'ApprovalThresholdProposed'> | null
  /** Why callbacks are held back; null while they are sent. */
  readonly callbacksDisabled: string | null
  /** When its URL was last changed or its endpoint enabled. Callbacks that have failed before are sent again. */
  readonly endpointChangedAt: string
  readonly createdAt: string
}

export type MerchantState = { readonly merchantId: null } | Merchant
type OfMerchant<Type extends MerchantEvent['type']> = Omit<DataOf<MerchantEvent, Type>, 'merchantId'>

export type MerchantCommand =
  | ({ readonly type: 'Register' } & DataOf<MerchantEvent, 'MerchantRegistered'>)
  /** `heldBy`: the actor whose rise or removal of the threshold or of limits needs the confirmation of another one. */
  | ({ readonly type: 'ChangeSettings'; readonly heldBy?: string | undefined } & OfMerchant<'MerchantSettingsChanged'>)
  | { readonly type: 'ConfirmThreshold'; readonly by: string; readonly at: string }
  | ({ readonly type: 'RotateApiKey' } & OfMerchant<'ApiKeyRotated'>)
  | ({ readonly type: 'CreateApiKey' } & OfMerchant<'ApiKeyCreated'>)
  | ({ readonly type: 'RevokeApiKey' } & OfMerchant<'ApiKeyRevoked'>)
  | ({ readonly type: 'RotateSecretKey' } & OfMerchant<'SecretKeyRotated'>)
  | ({ readonly type: 'TakeUpSecretKey' } & OfMerchant<'SecretKeyTakenUp'>)
  | ({ readonly type: 'RotateWebhookSecret' } & OfMerchant<'WebhookSecretRotated'>)
  /** Replaces each sealed text by the value of the map. A text that is not a key of the map is unchanged. */
  | { readonly type: 'Reseal'; readonly resealed: ReadonlyMap<SealedSecret, SealedSecret>; readonly at: string }
  | ({ readonly type: 'ChangeLogo' } & OfMerchant<'MerchantLogoChanged'>)
  | { readonly type: 'Suspend' | 'Resume' | 'EnableCallbacks'; readonly at: string }
  /** With `ofUrl`, only an endpoint with this URL is disabled. */
  | ({ readonly type: 'DisableCallbacks'; readonly ofUrl?: string } & OfMerchant<'CallbackEndpointDisabled'>)

export const merchantDecider: Decider<MerchantState, MerchantCommand, MerchantEvent> = {
  initialState: { merchantId: null },
  decide(command, state) {
    if (command.type === 'Register') {
      if (state.merchantId !== null) return refuse('conflict', 'merchant-exists')
      const { type: _, ...data } = command
      return accept({ type: 'MerchantRegistered', data })
    }
    return state.merchantId === null ? refuse('not-found', 'unknown-merchant') : change(command, state)
  },
  evolve,
}

function change(command: Exclude<MerchantCommand, { type: 'Register' }>, merchant: Merchant): Decision<MerchantEvent> {
  const { merchantId, suspended, settings, callbacksDisabled } = merchant
  const common = { merchantId, at: command.at }
  switch (command.type) {
    case 'ChangeSettings': {
      const { heldBy: by } = command
      const { proposedThreshold } = merchant
      const { approvalAboveMinor } = settings
      // Choosing the current threshold again rejects a proposal.
      const isRejected = proposedThreshold && command.changes.approvalAboveMinor === approvalAboveMinor
      const wanted = { ...changed(settings, command.changes), ...(isRejected && { approvalAboveMinor }) }
      const held = by === undefined ? {} : looserOf(wanted, settings)
      const changes = Object.fromEntries(Object.entries(wanted).filter(([name]) => !(name in held)))
      const events: MerchantEvent[] = []
      if (Object.keys(changes).length > 0)
        events.push({ type: 'MerchantSettingsChanged', data: { ...common, changes } })
      if (by !== undefined && Object.keys(held).length > 0) {
        const { withdrawalLimits = null, approvalOverDay = null } = held
        const proposal = { approvalAboveMinor, ...held, withdrawalLimits, approvalOverDay }
        events.push({ type: 'ApprovalThresholdProposed', data: { ...common, by, ...proposal } })
      }
      return accept(...events)
    }
    case 'ConfirmThreshold': {
      const { proposedThreshold: proposed } = merchant
      if (!proposed) return accept()
      if (proposed.by === command.by) return refuse('conflict', 'second-administrator-needed')
      const { approvalAboveMinor, withdrawalLimits, approvalOverDay } = proposed
      const changes = {
        approvalAboveMinor,
        ...(withdrawalLimits && { withdrawalLimits }),
        ...(typeof approvalOverDay === 'boolean' && { approvalOverDay }),
      }
      return accept({ type: 'MerchantSettingsChanged', data: { ...common, changes } })
    }
    case 'RotateApiKey':
      return accept({ type: 'ApiKeyRotated', data: { merchantId, ...fieldsOf(command) } })
    case 'CreateApiKey': {
      const { name, validUntil, at } = command
      const valid = merchant.apiKeys.filter((key) => isApiKeyValid(key, at))
      const isTaken = name === mainKeyName || valid.some((key) => key.name === name)
      if (isTaken) return refuse('conflict', 'api-key-name-taken')
      if (valid.length >= maxApiKeys) return refuse('conflict', 'too-many-api-keys', { most: maxApiKeys })
      if (validUntil !== null && validUntil <= at) return refuseField('validUntil', violate('time-passed'))
      return accept({ type: 'ApiKeyCreated', data: { merchantId, ...fieldsOf(command) } })
    }
    case 'RevokeApiKey': {
      const { keyId } = command
      const isKnown = merchant.apiKeys.some((key) => apiKeyId(key) === keyId)
      if (!isKnown) return refuse('not-found', 'api-key-unknown')
      return accept({ type: 'ApiKeyRevoked', data: { ...common, keyId } })
    }
    case 'RotateSecretKey':
      return accept({ type: 'SecretKeyRotated', data: { merchantId, ...fieldsOf(command) } })
    case 'TakeUpSecretKey': {
      const { number, at } = command
      if (callbackSecretKey(merchant.secretKeys, at).number >= number) return accept()
      return accept({ type: 'SecretKeyTakenUp', data: { ...common, number } })
    }
    case 'RotateWebhookSecret':
      return accept({ type: 'WebhookSecretRotated', data: { merchantId, ...fieldsOf(command) } })
    case 'Reseal': {
      const { resealed } = command
      const { current, previous } = merchant.webhookSecret
      const keys = merchant.secretKeys.all
      const sealed = [...keys.map((key) => key.sealed), current, ...(previous ? [previous.value] : [])]
      if (!sealed.some((text) => resealed.has(text))) return accept()
      const replace = (text: SealedSecret) => resealed.get(text) ?? text
      const secretKeys = keys.map((key) => ({ number: key.number, secretKey: replace(key.sealed) }))
      const previousWebhookSecret = previous ? replace(previous.value) : null
      const secrets = { secretKeys, webhookSecret: replace(current), previousWebhookSecret }
      return accept({ type: 'MerchantSecretsResealed', data: { ...common, ...secrets } })
    }
    case 'ChangeLogo': {
      const { sha256 } = command
      return sha256 === merchant.logoSha256
        ? accept()
        : accept({ type: 'MerchantLogoChanged', data: { ...common, sha256 } })
    }
    case 'Suspend':
      return suspended ? accept() : accept({ type: 'MerchantSuspended', data: common })
    case 'Resume':
      return suspended ? accept({ type: 'MerchantResumed', data: common }) : accept()
    case 'DisableCallbacks':
      if (callbacksDisabled !== null || (command.ofUrl ?? settings.callbackUrl) !== settings.callbackUrl)
        return accept()
      return accept({ type: 'CallbackEndpointDisabled', data: { ...common, reason: command.reason } })
    case 'EnableCallbacks':
      return callbacksDisabled === null ? accept() : accept({ type: 'CallbackEndpointEnabled', data: common })
    default:
      return command satisfies never
  }
}

type ApprovalSettings = Pick<MerchantSettings, 'approvalAboveMinor' | 'withdrawalLimits' | 'approvalOverDay'>

/** Returns those of the wanted settings with which some payments that need an approval now would not need one. */
function looserOf(wanted: Partial<MerchantSettings>, current: MerchantSettings): Partial<ApprovalSettings> {
  const { approvalAboveMinor: above, withdrawalLimits, approvalOverDay } = wanted
  const { approvalAboveMinor: threshold } = current
  const isThresholdLooser = above !== undefined && threshold !== null && (above === null || above > threshold)
  return {
    ...(isThresholdLooser && { approvalAboveMinor: above }),
    ...(withdrawalLimits && areLooser(withdrawalLimits, current.withdrawalLimits) && { withdrawalLimits }),
    ...(approvalOverDay === false && { approvalOverDay }),
  }
}

function fieldsOf<Command extends MerchantCommand>({ type: _, ...fields }: Command): Omit<Command, 'type'> {
  return fields
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
  const [left, right] = [a, b].map((list) =>
    JSON.stringify(list, (_, each) => (typeof each === 'bigint' ? `${each}` : each)),
  )
  return left === right
}

function evolve(state: MerchantState, event: MerchantEvent): MerchantState {
  if (event.type === 'MerchantRegistered') {
    const { apiKeySha256, secretKey, webhookSecret, at, merchantId, settings } = event.data
    return {
      merchantId,
      settings,
      apiKeys: [mainKey(apiKeySha256, at)],
      secretKeys: { all: [{ number: 0, sealed: secretKey, validUntil: null }], takenUp: 0 },
      webhookSecret: { current: webhookSecret },
      suspended: false,
      logoSha256: null,
      proposedThreshold: null,
      callbacksDisabled: null,
      endpointChangedAt: at,
      createdAt: at,
    }
  }
  if (state.merchantId === null) throw new Error('a merchant changed before it was registered')
  switch (event.type) {
    case 'MerchantSettingsChanged': {
      const { changes, at } = event.data
      const { approvalAboveMinor, withdrawalLimits, approvalOverDay } = changes
      const isDecided = [approvalAboveMinor, withdrawalLimits, approvalOverDay].some((each) => each !== undefined)
      const proposedThreshold = isDecided ? null : state.proposedThreshold
      const endpointChangedAt = changes.callbackUrl === undefined ? state.endpointChangedAt : at
      return { ...state, settings: { ...state.settings, ...changes }, proposedThreshold, endpointChangedAt }
    }
    case 'ApprovalThresholdProposed':
      return { ...state, proposedThreshold: event.data }
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
    case 'WebhookSecretRotated': {
      const { webhookSecret: current, previousValidUntil: validUntil, at } = event.data
      const previous = { value: state.webhookSecret.current, validUntil }
      return { ...state, webhookSecret: validUntil <= at ? { current } : { current, previous } }
    }
    case 'MerchantSecretsResealed': {
      const { webhookSecret: current, previousWebhookSecret } = event.data
      const { previous } = state.webhookSecret
      const resealed = previous && { ...previous, value: previousWebhookSecret ?? previous.value }
      const secretKeys = resealSecretKeys(state.secretKeys, event.data.secretKeys)
      return { ...state, secretKeys, webhookSecret: { current, ...(resealed && { previous: resealed }) } }
    }
    case 'MerchantLogoChanged':
      return { ...state, logoSha256: event.data.sha256 }
    case 'MerchantSuspended':
      return { ...state, suspended: true }
    case 'MerchantResumed':
      return { ...state, suspended: false }
    case 'CallbackEndpointDisabled':
      return { ...state, callbacksDisabled: event.data.reason }
    case 'CallbackEndpointEnabled':
      return { ...state, callbacksDisabled: null, endpointChangedAt: event.data.at }
    default:
      return event satisfies never
  }
}

/** The largest number of SecretKeys: each request is compared with all valid ones. The oldest is removed first. */
const maxSecretKeys = 4

/** Keeps the previous SecretKey until `previousValidUntil` and older ones until their own ends. Without an overlap, all of them end. */
function rotateSecretKey(
  { all: [before, ...earlier], takenUp }: SecretKeys,
  { secretKey: sealed, previousValidUntil, at }: DataOf<MerchantEvent, 'SecretKeyRotated'>,
): SecretKeys {
  const current = { number: before.number + 1, sealed, validUntil: null }
  if (previousValidUntil <= at) return { all: [current], takenUp }
  const previous = { ...before, validUntil: previousValidUntil }
  const kept = earlier.filter((key) => isValid(key, at)).slice(0, maxSecretKeys - 2)
  return { all: [current, previous, ...kept], takenUp }
}

/** Replaces the sealed texts by ones that are sealed with a different master key. */
function resealSecretKeys(
  { all: [first, ...others], takenUp }: SecretKeys,
  resealed: DataOf<MerchantEvent, 'MerchantSecretsResealed'>['secretKeys'],
): SecretKeys {
  const sealedOf = new Map(resealed.map(({ number, secretKey }) => [number, secretKey]))
  const reseal = (key: SecretKey) => ({ ...key, sealed: sealedOf.get(key.number) ?? key.sealed })
  return { all: [reseal(first), ...others.map(reseal)], takenUp }
}

/** Returns the values that are valid at that time, the current one first. */
export function validValues<Value>({ current, previous }: Rotating<Value>, at: string): Value[] {
  return previous && at < previous.validUntil ? [current, previous.value] : [current]
}

export function validSecretKeys({ all }: SecretKeys, at: string): readonly SecretKey[] {
  return all.length === 1 ? all : all.filter((key) => isValid(key, at))
}

/** Returns the oldest valid SecretKey that is not older than the one in use, because a receiver that checks the HashCode has only one. */
export function callbackSecretKey(keys: SecretKeys, at: string): SecretKey {
  return validSecretKeys(keys, at).findLast(({ number }) => number >= keys.takenUp) ?? keys.all[0]
}

const isValid = ({ validUntil }: SecretKey, at: string): boolean => validUntil === null || at < validUntil
