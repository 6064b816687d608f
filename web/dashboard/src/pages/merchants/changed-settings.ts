import type { ChangeMerchantRequest, MerchantItem } from '../../api/contract'
import { fieldLines, fieldText } from '../../components/form-data'

type Settings = MerchantItem['settings']
export type Setting = keyof ChangeMerchantRequest

export const instructionsField = (paymentMethod: number) => `instructions.${paymentMethod}`

/** Returns the settings in the form. The server rejects invalid values at their fields. */
function formSettings(data: FormData, manualMethods: readonly number[]): Omit<Settings, 'sandbox'> {
  const minor = (name: Setting) => Number(fieldText(data, name))
  const minorOrNone = (name: Setting) => (fieldText(data, name) === '' ? null : minor(name))
  const instructions = manualMethods.map((paymentMethod) => ({
    paymentMethod,
    text: String(data.get(instructionsField(paymentMethod)) ?? '')
      .replaceAll('\r\n', '\n')
      .trim(),
  }))
  return {
    name: fieldText(data, 'name'),
    callbackUrl: fieldText(data, 'callbackUrl'),
    allowIps: fieldLines(data, 'allowIps'),
    returnUrl: fieldText(data, 'returnUrl') || null,
    frameAncestors: fieldLines(data, 'frameAncestors'),
    minAmountMinor: minor('minAmountMinor'),
    maxAmountMinor: minor('maxAmountMinor'),
    mismatchToleranceMinor: minor('mismatchToleranceMinor'),
    manualControlAboveMinor: minorOrNone('manualControlAboveMinor'),
    approvalAboveMinor: minorOrNone('approvalAboveMinor'),
    autoCancelMismatch: data.has('autoCancelMismatch'),
    callbackOnCreate: data.has('callbackOnCreate'),
    requireNativeHash: data.has('requireNativeHash'),
    requireSignature: fieldText(data, 'requireSignature') as Settings['requireSignature'],
    rateLimitPerSecond: Number(fieldText(data, 'rateLimitPerSecond')),
    depositExpiryMinutes: Number(fieldText(data, 'depositExpiryMinutes')),
    paymentInstructions: instructions.filter(({ text }) => text !== ''),
  }
}

/** Returns only the settings that the user changed, so that changes by other users since the form was opened are kept. */
export function changedSettings(
  data: FormData,
  shown: Settings,
  manualMethods: readonly number[],
): ChangeMerchantRequest {
  const entries = Object.entries(formSettings(data, manualMethods)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(shown[name as Setting]),
  )
  return Object.fromEntries(entries)
}
