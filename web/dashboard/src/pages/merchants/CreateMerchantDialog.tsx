import { useState } from 'react'
import { api } from '../../api/api-client'
import type { CreateMerchantRequest, IssuedMerchant } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Checkbox } from '../../components/Checkbox'
import { SecretOnce } from '../../components/Copyable'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldLines, fieldText } from '../../components/form-data'
import { TextField } from '../../components/TextField'

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
    onSuccess: setIssued,
  })
  if (issued) return <Issued issued={issued} onClose={() => onCreated(issued.merchant.merchantId)} />
  return (
    <Dialog title={text('merchants.create')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text('merchants.createSubmit')}
        pending={action.pending}
        cancel={onClose}
      >
        <TextField name="name" label={text('fields.name')} description={text('merchants.help.name')} required />
        <TextField
          name="callbackUrl"
          type="url"
          label={text('fields.callbackUrl')}
          description={text('merchants.help.callbackUrl')}
          required
        />
        <TextField
          name="allowIps"
          label={text('fields.allowIps')}
          description={text('merchants.help.allowIps')}
          multiline
          required
        />
        <Checkbox name="sandbox" label={text('merchants.sandboxMerchant')} />
        <p className="muted">{text('merchants.sandboxHelp')}</p>
      </Form>
    </Dialog>
  )
}

/** Shows the secrets once. The label of the closing button makes the user confirm that they are saved. */
function Issued({ issued, onClose }: { readonly issued: IssuedMerchant; readonly onClose: () => void }) {
  const text = useText()
  return (
    <Dialog title={text('merchants.createdTitle', { name: issued.merchant.settings.name })} open onClose={onClose} wide>
      <div className="stack">
        <p>{text('merchants.createdHelp')}</p>
        <SecretOnce label={text('merchants.secret.webApiKey')} value={issued.webApiKey} />
        <SecretOnce label={text('merchants.secret.secretKey')} value={issued.secretKey} />
        <SecretOnce label={text('merchants.secret.webhookSecret')} value={issued.webhookSecret} />
        <div className="row">
          <Button look="primary" onPress={onClose}>
            {text('merchants.savedAll')}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
