import { useState } from 'react'
import type { CreateMerchantRequest, IssuedMerchant } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Checkbox } from '../../components/Checkbox'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldLines, fieldText } from '../../components/form-data'
import { SecretsDialog } from '../../components/SecretsDialog'
import { notify } from '../../components/Toasts'
import { SettingInput } from './SettingInput'
import type { Setting } from './setting-groups'

const newMerchantSettings: readonly Setting[] = [
  { name: 'name', type: 'text', required: true },
  { name: 'callbackUrl', type: 'url', required: true },
  { name: 'allowIps', type: 'lines', required: true },
]

interface CreateMerchantDialogProps {
  readonly onClose: () => void
  readonly onCreated: (merchantId: string) => void
}

export function CreateMerchantDialog({ onClose, onCreated }: CreateMerchantDialogProps) {
  const text = useText()
  const [issued, setIssued] = useState<IssuedMerchant>()
  const action = useAction({
    run: (data: FormData) => {
      const body: CreateMerchantRequest = {
        name: fieldText(data, 'name'),
        callbackUrl: fieldText(data, 'callbackUrl'),
        allowIps: fieldLines(data, 'allowIps'),
        sandbox: data.has('sandbox'),
      }
      return api.send<IssuedMerchant>('POST', '/merchants', body)
    },
    refresh: [['merchants'], ['session'], ['endpoints']],
    onSuccess: (created) => {
      setIssued(created)
      const { endpointWarning } = created.merchant
      if (endpointWarning !== null) notify(text(`merchants.endpoint.${endpointWarning}`), 'bad')
    },
  })
  if (issued) {
    const { merchant, webApiKey, secretKey, webhookSecret } = issued
    return (
      <SecretsDialog
        title={text('merchants.createdTitle', { name: merchant.settings.name })}
        help={text('merchants.createdHelp')}
        secrets={[
          { label: text('merchants.secret.webApiKey'), value: webApiKey },
          { label: text('merchants.secret.secretKey'), value: secretKey },
          { label: text('merchants.secret.webhookSecret'), value: webhookSecret },
        ]}
        confirm={text('merchants.savedAll')}
        onClose={() => onCreated(merchant.merchantId)}
      />
    )
  }
  return (
    <Dialog title={text('merchants.create')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text('merchants.createSubmit')}
        pending={action.pending}
        cancel={onClose}
      >
        {newMerchantSettings.map((setting) => (
          <SettingInput key={setting.name} setting={setting} />
        ))}
        <Checkbox name="sandbox" label={text('merchants.sandboxMerchant')} />
        <p className="muted">{text('merchants.sandboxHelp')}</p>
      </Form>
    </Dialog>
  )
}
