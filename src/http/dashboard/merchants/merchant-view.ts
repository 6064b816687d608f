import type { Static } from '@sinclair/typebox'
import { apiKeyId } from '../../../domain/merchant/api-key.js'
import type { Merchant } from '../../../domain/merchant/merchant.js'
import type { MerchantSettings } from '../../../domain/merchant/merchant-events.js'
import { amountSettings } from '../../../domain/merchant/merchant-settings.js'
import type { ChangeMerchantRequest, MerchantItem } from '../api.js'

/** Returns a merchant without its secrets, and without anything that helps to guess a key. */
export function itemOf(merchant: Merchant): Static<typeof MerchantItem> {
  const { merchantId, settings, apiKeys, suspended, callbacksDisabled, createdAt } = merchant
  const amount = (minor: bigint | null) => (minor === null ? null : Number(minor))
  return {
    ...{ merchantId, suspended, callbacksDisabled, createdAt },
    settings: {
      ...settings,
      mismatchToleranceMinor: Number(settings.mismatchToleranceMinor),
      manualControlAboveMinor: amount(settings.manualControlAboveMinor),
      approvalAboveMinor: amount(settings.approvalAboveMinor),
      minAmountMinor: Number(settings.minAmountMinor),
      maxAmountMinor: Number(settings.maxAmountMinor),
    },
    keys: apiKeys.map((key) => {
      const { name, scopes, createdAt, validUntil } = key
      return { keyId: apiKeyId(key), name, scopes, createdAt, validUntil }
    }),
  }
}

/** The settings except amounts. The dashboard cannot change whether a merchant belongs to the sandbox. */
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

/** Returns the settings of a request, in which amounts are integers. */
export function settingsIn(body: Static<typeof ChangeMerchantRequest>): Partial<MerchantSettings> {
  const plain = plainSettings.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]))
  const amounts = amountSettings.flatMap((name) => {
    const value = body[name]
    return value === undefined ? [] : [[name, value === null ? null : BigInt(value)]]
  })
  return Object.fromEntries([...plain, ...amounts])
}
