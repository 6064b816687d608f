import type { ChangeMerchantRequest } from '../../../../../src/http/dashboard/api'
import { fieldLines, fieldMinor, fieldText } from '../../components/form-data'
import { type Setting, type Settings, settingGroups } from './setting-groups'
import { limitField, limitHours, limitScopes } from './withdrawal-limits'

export type ChangedSettings = Omit<ChangeMerchantRequest, 'revision'>

export const instructionsField = (paymentMethod: number) => `instructions.${paymentMethod}`

/** Returns only the settings that the user changed, so that changes by other users since the form was opened are kept. */
export function changedSettings(data: FormData, shown: Settings, manualMethods: readonly number[]): ChangedSettings {
  const settings = settingGroups.flatMap((group) => group.settings)
  const entries: [keyof Settings, unknown][] = settings.map((setting) => [setting.name, settingOf(data, setting)])
  entries.push(['paymentInstructions', instructionsOf(data, manualMethods)], ['withdrawalLimits', limitsOf(data)])
  return Object.fromEntries(entries.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(shown[name])))
}

/** Returns a setting as entered. The server rejects invalid values at their fields. */
function settingOf(data: FormData, { name, type, required = false }: Setting): unknown {
  if (type === 'flag') return data.has(name)
  if (type === 'lines') return fieldLines(data, name)
  const value = fieldText(data, name)
  if (value === '' && !required) return null
  return type === 'amount' || type === 'number' ? Number(value) : value
}

/** Returns the limits in the order in which the form has them, which is that of the server's. */
function limitsOf(data: FormData): Settings['withdrawalLimits'] {
  const periods = limitScopes.flatMap((per) => limitHours.map((hours) => ({ per, hours })))
  return periods
    .map(({ per, hours }) => {
      const count = fieldText(data, limitField(per, hours, 'count'))
      const amountMinor = fieldMinor(data, limitField(per, hours, 'amount')) ?? null
      return { per, hours, count: count === '' ? null : Number(count), amountMinor }
    })
    .filter(({ count, amountMinor }) => count !== null || amountMinor !== null)
}

function instructionsOf(data: FormData, manualMethods: readonly number[]): Settings['paymentInstructions'] {
  return manualMethods
    .map((paymentMethod) => ({
      paymentMethod,
      text: fieldText(data, instructionsField(paymentMethod)).replaceAll('\r\n', '\n'),
    }))
    .filter(({ text }) => text !== '')
}
