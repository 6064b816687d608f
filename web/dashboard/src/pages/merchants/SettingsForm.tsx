import { useState } from 'react'
import type { ChangeMerchantRequest, MerchantItem } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { usePaymentMethods } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Card } from '../../components/Card'
import { Form } from '../../components/Form'
import { SaveBar } from '../../components/SaveBar'
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'
import { type ChangedSettings, changedSettings, instructionsField } from './changed-settings'
import { LimitFields } from './LimitFields'
import { SettingInput } from './SettingInput'
import { settingGroups } from './setting-groups'

export function SettingsForm({ merchant }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const { merchantId } = merchant
  const manualMethods = usePaymentMethods().filter(({ paidBy }) => paidBy === 'manual')
  // The form is compared with the settings it started with, even if newer ones are fetched later.
  const [seen, setSeen] = useState(merchant)
  const shown = seen.settings
  // A change of something else, such as the logo, does not make the form outdated.
  const isCurrent = JSON.stringify(merchant.settings) === JSON.stringify(shown)
  const { revision } = isCurrent ? merchant : seen
  const [changes, setChanges] = useState<ChangedSettings>({})
  const [round, setRound] = useState(0)
  const codes = manualMethods.map(({ code }) => code)
  const restart = (from: MerchantItem) => {
    setSeen(from)
    setChanges({})
    setRound((before) => before + 1)
  }
  const action = useAction({
    run: async (data: FormData) => {
      const given = changedSettings(data, shown, codes)
      if (Object.keys(given).length === 0) return merchant
      const body: ChangeMerchantRequest = { ...given, revision }
      return api.send<MerchantItem>('PATCH', `/merchants/${merchantId}`, body)
    },
    refresh: [['merchant', merchantId], ['merchants'], ['changes'], ['endpoints'], ['session']],
    onSuccess: (saved) => {
      restart(saved)
      const { endpointWarning } = saved
      const isElsewhere = saved.settings.callbackUrl !== shown.callbackUrl
      if (endpointWarning !== null && isElsewhere) notify(text(`merchants.endpoint.${endpointWarning}`), 'bad')
      else notify(text('merchants.settingsSaved'))
    },
  })
  return (
    <Form
      key={round}
      onSubmit={action.start}
      onEdit={(data) => setChanges(changedSettings(data, shown, codes))}
      error={action.error}
      pending={action.pending}
      footer={
        <SaveBar count={Object.keys(changes).length} pending={action.pending} onDiscard={() => restart(merchant)} />
      }
    >
      <div className="MerchantSettings">
        {settingGroups.map(({ group, settings }) => (
          <Card key={group} title={text(`merchants.group.${group}`)}>
            {settings.map((setting) => (
              <SettingInput
                key={setting.name}
                setting={setting}
                settings={shown}
                isChanged={Object.hasOwn(changes, setting.name)}
              />
            ))}
          </Card>
        ))}
        <Card title={text('merchants.group.withdrawalLimits')}>
          <LimitFields settings={shown} />
        </Card>
        {manualMethods.length > 0 && (
          <Card title={text('merchants.group.instructions')}>
            <p className="muted">{text('merchants.help.instructions')}</p>
            {manualMethods.map(({ code, name }) => (
              <TextField
                key={code}
                name={instructionsField(code)}
                label={name}
                multiline
                defaultValue={shown.paymentInstructions.find((each) => each.paymentMethod === code)?.text ?? ''}
              />
            ))}
          </Card>
        )}
      </div>
    </Form>
  )
}
