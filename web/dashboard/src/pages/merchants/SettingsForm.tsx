import { useState } from 'react'
import { api } from '../../api/api-client'
import type { MerchantItem } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { AmountField } from '../../components/AmountField'
import { Card } from '../../components/Card'
import { Checkbox } from '../../components/Checkbox'
import { Form } from '../../components/Form'
import { Select } from '../../components/Select'
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'
import { changedSettings, instructionsField } from './changed-settings'

interface SettingsProps {
  readonly merchant: MerchantItem
}

export function SettingsForm({ merchant }: SettingsProps) {
  const text = useText()
  const { paymentMethods } = useSession()
  const { merchantId } = merchant
  const manualMethods = paymentMethods.filter(({ paidBy }) => paidBy === 'manual')
  // What the form began with: it is compared with that, whatever is fetched meanwhile.
  const [shown, setShown] = useState(merchant.settings)
  const action = useAction({
    run: async (data: FormData) => {
      const codes = manualMethods.map(({ code }) => code)
      const changes = changedSettings(data, shown, codes)
      if (Object.keys(changes).length === 0) return merchant
      return api.send<MerchantItem>('PATCH', `/merchants/${merchantId}`, changes)
    },
    refresh: [['merchant', merchantId], ['merchants'], ['changes'], ['endpoints'], ['session']],
    done: ({ settings }) => {
      setShown(settings)
      notify(text('merchants.saved'))
    },
  })
  return (
    <Form onSubmit={action.start} error={action.error} submit={text('common.save')} pending={action.pending}>
      <div className="MerchantSettings">
        <Card title={text('merchants.group.who')}>
          <Addresses settings={shown} />
        </Card>
        <Card title={text('merchants.group.limits')}>
          <Limits settings={shown} />
        </Card>
        <Card title={text('merchants.group.options')}>
          <Options settings={shown} />
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

interface GroupProps {
  readonly settings: MerchantItem['settings']
}

function Addresses({ settings }: GroupProps) {
  const text = useText()
  return (
    <>
      <TextField
        name="name"
        label={text('merchants.setting.name')}
        description={text('merchants.help.name')}
        defaultValue={settings.name}
        required
      />
      <TextField
        name="callbackUrl"
        type="url"
        label={text('merchants.setting.callbackUrl')}
        description={text('merchants.help.callbackUrl')}
        defaultValue={settings.callbackUrl}
        required
      />
      <TextField
        name="allowIps"
        label={text('merchants.setting.allowIps')}
        description={text('merchants.help.allowIps')}
        multiline
        defaultValue={settings.allowIps.join('\n')}
      />
      <TextField
        name="returnUrl"
        type="url"
        label={text('merchants.setting.returnUrl')}
        description={text('merchants.help.returnUrl')}
        defaultValue={settings.returnUrl ?? ''}
      />
      <TextField
        name="frameAncestors"
        label={text('merchants.setting.frameAncestors')}
        description={text('merchants.help.frameAncestors')}
        multiline
        defaultValue={settings.frameAncestors.join('\n')}
      />
    </>
  )
}

function Limits({ settings }: GroupProps) {
  const text = useText()
  const { manualControlAboveMinor, approvalAboveMinor } = settings
  return (
    <>
      <AmountField
        name="minAmountMinor"
        label={text('merchants.setting.minAmountMinor')}
        defaultMinor={settings.minAmountMinor}
        required
      />
      <AmountField
        name="maxAmountMinor"
        label={text('merchants.setting.maxAmountMinor')}
        defaultMinor={settings.maxAmountMinor}
        required
      />
      <AmountField
        name="mismatchToleranceMinor"
        label={text('merchants.setting.mismatchToleranceMinor')}
        description={text('merchants.help.mismatchToleranceMinor')}
        defaultMinor={settings.mismatchToleranceMinor}
        required
      />
      <AmountField
        name="manualControlAboveMinor"
        label={text('merchants.setting.manualControlAboveMinor')}
        description={text('merchants.help.manualControlAboveMinor')}
        {...(manualControlAboveMinor !== null && { defaultMinor: manualControlAboveMinor })}
      />
      <AmountField
        name="approvalAboveMinor"
        label={text('merchants.setting.approvalAboveMinor')}
        description={text('merchants.help.approvalAboveMinor')}
        {...(approvalAboveMinor !== null && { defaultMinor: approvalAboveMinor })}
      />
      <TextField
        name="rateLimitPerSecond"
        type="number"
        label={text('merchants.setting.rateLimitPerSecond')}
        defaultValue={String(settings.rateLimitPerSecond)}
        required
      />
      <TextField
        name="depositExpiryMinutes"
        type="number"
        label={text('merchants.setting.depositExpiryMinutes')}
        description={text('merchants.help.depositExpiryMinutes')}
        defaultValue={String(settings.depositExpiryMinutes)}
        required
      />
    </>
  )
}

function Options({ settings }: GroupProps) {
  const text = useText()
  const [requireSignature, setRequireSignature] = useState(settings.requireSignature)
  const choices = ['none', 'withdrawals', 'all'] as const
  return (
    <>
      <Select
        name="requireSignature"
        label={text('merchants.setting.requireSignature')}
        description={text('merchants.help.requireSignature')}
        options={choices.map((value) => ({ value, label: text(`merchants.signature.${value}`) }))}
        value={requireSignature}
        onChange={(value) => setRequireSignature(choices.find((each) => each === value) ?? requireSignature)}
      />
      <Checkbox
        name="requireNativeHash"
        label={text('merchants.setting.requireNativeHash')}
        defaultSelected={settings.requireNativeHash}
      />
      <Checkbox
        name="autoCancelMismatch"
        label={text('merchants.setting.autoCancelMismatch')}
        defaultSelected={settings.autoCancelMismatch}
      />
      <Checkbox
        name="callbackOnCreate"
        label={text('merchants.setting.callbackOnCreate')}
        defaultSelected={settings.callbackOnCreate}
      />
    </>
  )
}
