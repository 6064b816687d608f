import type { ReactNode } from 'react'
import type { MerchantItem } from '../../../../../src/http/dashboard/api'
import { usePaymentMethodName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { Facts } from '../../components/Facts'
import { type Setting, type Settings, settingGroups } from './setting-groups'
import { useLimitTexts } from './use-limits-text'

/** Shows the settings to users who cannot change them. */
export function SettingsFacts({ merchant: { settings } }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const methodName = usePaymentMethodName()
  const shownValue = useSettingValue()
  const limitTexts = useLimitTexts()
  return (
    <div className="MerchantSettings">
      {settingGroups.map(({ group, settings: listed }) => (
        <Card key={group} title={text(`merchants.group.${group}`)}>
          <Facts
            items={listed.map((setting) => ({
              label: text(`fields.${setting.name}`),
              value: shownValue(setting, settings),
            }))}
          />
        </Card>
      ))}
      {settings.withdrawalLimits.length > 0 && (
        <Card title={text('merchants.group.withdrawalLimits')}>
          {limitTexts(settings.withdrawalLimits).map((each) => (
            <p key={each}>{each}</p>
          ))}
        </Card>
      )}
      {settings.paymentInstructions.length > 0 && (
        <Card title={text('merchants.group.instructions')}>
          <Facts
            items={settings.paymentInstructions.map(({ paymentMethod, text: instructions }) => ({
              label: methodName(paymentMethod),
              value: <bdi className="MerchantSettings-text">{instructions}</bdi>,
            }))}
          />
        </Card>
      )}
    </div>
  )
}

/** Returns a function that shows the value of a setting. */
export function useSettingValue(): (setting: Setting, settings: Settings) => ReactNode {
  const text = useText()
  return ({ name, type }, settings) => {
    const value = settings[name]
    if (value === null || (Array.isArray(value) && value.length === 0)) return text('common.none')
    if (typeof value === 'boolean') return text(value ? 'common.yes' : 'common.no')
    if (type === 'amount' && typeof value === 'number') return <Amount minor={value} />
    if (type === 'signature') return text(`merchants.signature.${settings.requireSignature}`)
    return <bdi>{Array.isArray(value) ? value.join(', ') : value}</bdi>
  }
}
