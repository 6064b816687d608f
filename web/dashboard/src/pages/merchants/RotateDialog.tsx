import { useState } from 'react'
import { overlapMinutes } from '../../../../../src/domain/merchant/merchant-settings'
import type { IssuedSecret, RotateRequest } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldText } from '../../components/form-data'
import { SecretsDialog } from '../../components/SecretsDialog'
import { TextField } from '../../components/TextField'

interface RotateDialogProps {
  readonly merchantId: string
  readonly secret: RotateRequest['secret']
  readonly onClose: () => void
}

export function RotateDialog({ merchantId, secret, onClose }: RotateDialogProps) {
  const text = useText()
  const [issued, setIssued] = useState<IssuedSecret>()
  const action = useAction({
    run: (data: FormData) => {
      const body: RotateRequest = { secret, overlapMinutes: Number(fieldText(data, 'overlapMinutes')) }
      return api.send<IssuedSecret>('POST', `/merchants/${merchantId}/rotate`, body)
    },
    refresh: [['merchant', merchantId], ['merchants'], ['changes']],
    onSuccess: setIssued,
  })
  const label = text(`merchants.secret.${secret}`)
  const title = text('merchants.rotate', { secret: label })
  if (issued) {
    const secrets = [{ label, value: issued.value }]
    return <SecretsDialog title={title} secrets={secrets} confirm={text('merchants.saved')} onClose={onClose} />
  }
  return (
    <Dialog title={title} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text('merchants.rotateSubmit')}
        pending={action.pending}
        cancel={onClose}
      >
        <p>{text(`merchants.rotateHelp.${secret}`)}</p>
        <TextField
          name="overlapMinutes"
          kind="number"
          label={text('merchants.overlapMinutes')}
          description={text('merchants.help.overlapMinutes')}
          defaultValue={String(overlapMinutes.usual)}
          required
        />
      </Form>
    </Dialog>
  )
}
