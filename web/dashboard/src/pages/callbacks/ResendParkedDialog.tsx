import type { EndpointItem, ResendRequest, ResendResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { DateField } from '../../components/DateField'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { localTime } from '../../components/local-days'
import { notify } from '../../components/Toasts'

interface ResendParkedDialogProps {
  readonly endpoint: EndpointItem
  readonly onClose: () => void
}

const dayMs = 86_400_000

export function ResendParkedDialog({ endpoint, onClose }: ResendParkedDialogProps) {
  const text = useText()
  const { merchantId, merchantName, failingSince } = endpoint
  const action = useAction({
    run: (data: FormData) => {
      const parkedSince = new Date(String(data.get('parkedSince'))).toISOString()
      const body: ResendRequest = { merchantId, parkedSince }
      return api.send<ResendResponse>('POST', '/callbacks/resend', body)
    },
    refresh: [['endpoints'], ['callbacks']],
    onSuccess: ({ requeued, more }) => {
      notify(text(more ? 'callbacks.resentInPart' : 'callbacks.resent', { count: requeued }))
      onClose()
    },
  })
  const since = failingSince ?? new Date(Date.now() - dayMs).toISOString()
  return (
    <Dialog title={text('callbacks.resendParkedTitle')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text('callbacks.resend')}
        pending={action.pending}
        cancel={onClose}
      >
        <p>{text('callbacks.resendParkedHelp', { merchant: merchantName })}</p>
        <DateField
          name="parkedSince"
          precision="minute"
          label={text('callbacks.parkedSince')}
          description={text('common.inYourTimeZone')}
          defaultValue={localTime(since).slice(0, 16)}
          required
        />
      </Form>
    </Dialog>
  )
}
