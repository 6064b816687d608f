import { useState } from 'react'
import { api } from '../../api/api-client'
import type { MerchantItem } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { usePaymentMethods } from '../../app/merchant-names'
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
  const paymentMethods = usePaymentMethods()
  const { merchantId } = merchant
  const manualMethods = paymentMethods.filter(({ paidBy }) => paidBy === 'manual')
  // The form is compared with the settings it started with, even if newer ones are fetched later.
  const [shown, setShown] = useState(merchant.settings)
  const action = useAction({
    run: async (data: FormData) => {
      const codes = manualMethods.map(({ code }) => code)
      const changes = changedSettings(data, shown, codes)
      if (Object.keys(changes).length === 0) return merchant
      return api.send<MerchantItem>('PATCH', `/merchants/${merchantId}`, changes)
    },
    refresh: [['merchant', merchantId], ['merchants'], ['changes'], ['endpoints'], ['session']],
    onSuccess: ({ settings }) => {
      setShown(settings)
      notify(text('merchants.settingsSaved'))
    },
  })
  return (
    <Form onSubmit={action.start} error={action.error} submit={text('common.save')} pending={action.pending}>
      <div className="MerchantSettings">
        <Card title={text('merchants.group.addresses')}>
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
        label={text('fields.name')}
        description={text('merchants.help.name')}
        defaultValue={settings.name}
        required
      />
      <TextField
        name="callbackUrl"
        type="url"
        label={text('fields.callbackUrl')}
        description={text('merchants.help.callbackUrl')}
        defaultValue={settings.callbackUrl}
        required
      />
      <TextField
        name="allowIps"
        label={text('fields.allowIps')}
        description={text('merchants.help.allowIps')}
        multiline
        defaultValue={settings.allowIps.join('\n')}
      />
      <TextField
        name="returnUrl"
        type="url"
        label={text('fields.returnUrl')}
        description={text('merchants.help.returnUrl')}
        defaultValue={settings.returnUrl ?? ''}
      />
      <TextField
        name="frameAncestors"
        label={text('fields.frameAncestors')}
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
        label={text('fields.minAmountMinor')}
        defaultMinor={settings.minAmountMinor}
        required
      />
      <AmountField
        name="maxAmountMinor"
        label={text('fields.maxAmountMinor')}
        defaultMinor={settings.maxAmountMinor}
        required
      />
      <AmountField
        name="mismatchToleranceMinor"
        label={text('fields.mismatchToleranceMinor')}
        description={text('merchants.help.mismatchToleranceMinor')}
        defaultMinor={settings.mismatchToleranceMinor}
        required
      />
      <AmountField
        name="manualControlAboveMinor"
        label={text('fields.manualControlAboveMinor')}
        description={text('merchants.help.manualControlAboveMinor')}
        {...(manualControlAboveMinor !== null && { defaultMinor: manualControlAboveMinor })}
      />
      <AmountField
        name="approvalAboveMinor"
        label={text('fields.approvalAboveMinor')}
        description={text('merchants.help.approvalAboveMinor')}
        {...(approvalAboveMinor !== null && { defaultMinor: approvalAboveMinor })}
      />
      <TextField
        name="rateLimitPerSecond"
        type="number"
        label={text('fields.rateLimitPerSecond')}
        defaultValue={String(settings.rateLimitPerSecond)}
        required
      />
      <TextField
        name="depositExpiryMinutes"
        type="number"
        label={text('fields.depositExpiryMinutes')}
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
        label={text('fields.requireSignature')}
        description={text('merchants.help.requireSignature')}
        options={choices.map((value) => ({ value, label: text(`merchants.signature.${value}`) }))}
        value={requireSignature}
        onChange={(value) => setRequireSignature(choices.find((each) => each === value) ?? requireSignature)}
      />
      <Checkbox
        name="requireNativeHash"
        label={text('fields.requireNativeHash')}
        defaultSelected={settings.requireNativeHash}
      />
      <Checkbox
        name="autoCancelMismatch"
        label={text('fields.autoCancelMismatch')}
        defaultSelected={settings.autoCancelMismatch}
      />
      <Checkbox
        name="callbackOnCreate"
        label={text('fields.callbackOnCreate')}
        defaultSelected={settings.callbackOnCreate}
      />
    </>
  )
}
