import type { MerchantItem } from '../../../../../src/http/dashboard/api'

export type Settings = MerchantItem['settings']
/** The settings with one field in the form. Limits and payment instructions have several. */
type SettingName = Exclude<keyof Settings, 'sandbox' | 'paymentInstructions' | 'withdrawalLimits'>

export interface Setting {
  readonly name: SettingName
  readonly type: 'text' | 'url' | 'lines' | 'amount' | 'number' | 'signature' | 'flag'
  /** An optional setting is null if its field is empty. */
  readonly required?: boolean
}

interface SettingGroup {
  readonly group: 'addresses' | 'limits' | 'options'
  readonly settings: readonly Setting[]
}

export const settingGroups: readonly SettingGroup[] = [
  {
    group: 'addresses',
    settings: [
      { name: 'name', type: 'text', required: true },
      { name: 'callbackUrl', type: 'url', required: true },
      { name: 'allowIps', type: 'lines' },
      { name: 'returnUrl', type: 'url' },
      { name: 'frameAncestors', type: 'lines' },
    ],
  },
  {
    group: 'limits',
    settings: [
      { name: 'minAmountMinor', type: 'amount', required: true },
      { name: 'maxAmountMinor', type: 'amount', required: true },
      { name: 'mismatchToleranceMinor', type: 'amount', required: true },
      { name: 'manualControlAboveMinor', type: 'amount' },
      { name: 'approvalAboveMinor', type: 'amount' },
      { name: 'approvalOverDay', type: 'flag' },
      { name: 'rateLimitPerSecond', type: 'number', required: true },
      { name: 'depositExpiryMinutes', type: 'number', required: true },
    ],
  },
  {
    group: 'options',
    settings: [
      { name: 'requireSignature', type: 'signature', required: true },
      { name: 'requireNativeHash', type: 'flag' },
      { name: 'autoCancelMismatch', type: 'flag' },
      { name: 'callbackOnCreate', type: 'flag' },
      { name: 'callbackOnMoney', type: 'flag' },
    ],
  },
]
