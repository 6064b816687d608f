import { useState } from 'react'
import { scopes } from '../../../../../src/domain/merchant/api-key'
import type { CreateKeyRequest, IssuedSecret } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { CheckboxGroup } from '../../components/Checkbox'
import { DateField } from '../../components/DateField'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldText } from '../../components/form-data'
import { SecretsDialog } from '../../components/SecretsDialog'
import { TextField } from '../../components/TextField'

interface CreateKeyDialogProps {
  readonly merchantId: string
  readonly onClose: () => void
}

export function CreateKeyDialog({ merchantId, onClose }: CreateKeyDialogProps) {
  const text = useText()
  const [issued, setIssued] = useState<IssuedSecret>()
  const action = useAction({
    run: (data: FormData) => {
      const until = fieldText(data, 'validUntil')
      const body: CreateKeyRequest = {
        name: fieldText(data, 'name'),
        scopes: data.getAll('scopes').map(String),
        ...(until !== '' && { validUntil: new Date(until).toISOString() }),
      }
      return api.send<IssuedSecret>('POST', `/merchants/${merchantId}/keys`, body)
    },
    refresh: [['merchant', merchantId], ['merchants'], ['changes']],
    onSuccess: setIssued,
  })
  if (issued) {
    return (
      <SecretsDialog
        title={text('merchants.keyCreated')}
        secrets={[{ label: text('merchants.secret.webApiKey'), value: issued.value }]}
        confirm={text('merchants.saved')}
        onClose={onClose}
      />
    )
  }
  return (
    <Dialog title={text('merchants.createKey')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text('merchants.createSubmit')}
        pending={action.pending}
        cancel={onClose}
      >
        <TextField name="name" label={text('fields.name')} description={text('merchants.help.keyName')} required />
        <CheckboxGroup
          name="scopes"
          label={text('fields.scopes')}
          options={scopes.map((value) => ({ value, label: text(`merchants.scope.${value}`) }))}
          defaultValue={['read']}
          required
        />
        <DateField
          name="validUntil"
          precision="minute"
          label={text('fields.validUntil')}
          description={text('merchants.help.validUntil')}
        />
      </Form>
    </Dialog>
  )
}
