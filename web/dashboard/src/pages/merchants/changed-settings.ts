import type { ChangeMerchantRequest, MerchantItem } from '../../api/contract'
import { lines, oneLine } from './merchant-form'

type Settings = MerchantItem['settings']
export type Setting = keyof ChangeMerchantRequest

export const instructionsField = (paymentMethod: number) => `instructions.${paymentMethod}`

/** As the form has them. @throws never: what cannot be read is refused by the server, at its field. */
function formSettings(data: FormData, manualMethods: readonly number[]): Omit<Settings, 'sandbox'> {
  const minor = (name: Setting) => Number(oneLine(data, name))
  const minorOrNone = (name: Setting) => (oneLine(data, name) === '' ? null : minor(name))
  const instructions = manualMethods.map((paymentMethod) => ({
    paymentMethod,
    text: String(data.get(instructionsField(paymentMethod)) ?? '')
      .replaceAll('\r\n', '\n')
      .trim(),
  }))
  return {
    name: oneLine(data, 'name'),
    callbackUrl: oneLine(data, 'callbackUrl'),
    allowIps: lines(data, 'allowIps'),
    returnUrl: oneLine(data, 'returnUrl') || null,
    frameAncestors: lines(data, 'frameAncestors'),
    minAmountMinor: minor('minAmountMinor'),
    maxAmountMinor: minor('maxAmountMinor'),
    mismatchToleranceMinor: minor('mismatchToleranceMinor'),
    manualControlAboveMinor: minorOrNone('manualControlAboveMinor'),
    approvalAboveMinor: minorOrNone('approvalAboveMinor'),
    autoCancelMismatch: data.has('autoCancelMismatch'),
    callbackOnCreate: data.has('callbackOnCreate'),
    requireNativeHash: data.has('requireNativeHash'),
    requireSignature: oneLine(data, 'requireSignature') as Settings['requireSignature'],
    rateLimitPerSecond: Number(oneLine(data, 'rateLimitPerSecond')),
    depositExpiryMinutes: Number(oneLine(data, 'depositExpiryMinutes')),
    paymentInstructions: instructions.filter(({ text }) => text !== ''),
  }
}

/** What the person changed, and nothing else: what another has changed since the form was opened stays. */
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
