import type { Static } from '@sinclair/typebox'
import { apiKeyId } from '../../../domain/merchant/api-key.js'
import type { Merchant } from '../../../domain/merchant/merchant.js'
import type { MerchantSettings } from '../../../domain/merchant/merchant-events.js'
import { amountSettings } from '../../../domain/merchant/merchant-settings.js'
import type { ChangeMerchantRequest, MerchantItem } from '../api.js'

/** Nothing of a secret, and nothing of a key that helps to guess it. */
export function itemOf(merchant: Merchant): Static<typeof MerchantItem> {
  const { merchantId, settings, apiKeys, suspended, callbacksDisabled, createdAt } = merchant
  const { allowIps, frameAncestors, paymentInstructions } = settings
  const amount = (minor: bigint | null) => (minor === null ? null : Number(minor))
  return {
    ...{ merchantId, suspended, callbacksDisabled, createdAt },
    settings: {
      ...settings,
      ...{ allowIps: [...allowIps], frameAncestors: [...frameAncestors] },
      paymentInstructions: [...paymentInstructions],
      mismatchToleranceMinor: Number(settings.mismatchToleranceMinor),
      manualControlAboveMinor: amount(settings.manualControlAboveMinor),
      approvalAboveMinor: amount(settings.approvalAboveMinor),
      minAmountMinor: Number(settings.minAmountMinor),
      maxAmountMinor: Number(settings.maxAmountMinor),
    },
    keys: apiKeys.map((key) => ({
      ...{ keyId: apiKeyId(key), name: key.name, scopes: [...key.scopes] },
      ...{ createdAt: key.createdAt, validUntil: key.validUntil },
    })),
  }
}

/** But the amounts; whether a merchant is one of the sandbox is not changed here. */
const plainSettings = [
  'name',
  'callbackUrl',
  'allowIps',
  'autoCancelMismatch',
  'rateLimitPerSecond',
  'depositExpiryMinutes',
  'requireNativeHash',
  'requireSignature',
  'callbackOnCreate',
  'returnUrl',
  'frameAncestors',
  'paymentInstructions',
] as const satisfies readonly (keyof MerchantSettings)[]

/** The settings that a request names; amounts are whole numbers there. */
export function settingsIn(body: Static<typeof ChangeMerchantRequest>): Partial<MerchantSettings> {
  const plain = plainSettings.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]))
  const amounts = amountSettings.flatMap((name) => {
    const value = body[name]
    return value === undefined ? [] : [[name, value === null ? null : BigInt(value)]]
  })
  return Object.fromEntries([...plain, ...amounts])
}
