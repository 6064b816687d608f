import { api } from '../../api/api-client'
import type { TransferDetail } from '../../api/contract'
import { filled } from '../../api/settlement-form'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { TextField } from '../../components/TextField'
import type { ActionDialogProps } from './CompleteDialog'
import { WithdrawalChanged } from './WithdrawalChanged'

interface MessageDialogProps extends ActionDialogProps {
  readonly action: 'cancel' | 'manual-control'
}

/** For what the merchant is told a reason of. */
export function MessageDialog({ action: name, seen, now, onClose, onDone, onFailed }: MessageDialogProps) {
  const text = useText()
  const action = useAction({
    run: async (data: FormData) => {
      try {
        const body = { revision: seen.revision, message: filled(data, 'message') ?? '' }
        return await api.send<TransferDetail>('POST', `/transfers/${seen.trackingId}/${name}`, body)
      } catch (error) {
        onFailed()
        throw error
      }
    },
    done: onDone,
  })
  const isAsSeen = now.revision === seen.revision
  return (
    <Dialog title={text(`paying.title.${name}`)} open onClose={onClose}>
      {isAsSeen || action.pending ? (
        <Form
          onSubmit={action.start}
          error={action.error}
          submit={text(`common.action.${name}`)}
          pending={action.pending}
          cancel={onClose}
          danger={name === 'cancel'}
        >
          <p className="PayDialog-to">
            <Amount minor={seen.amountMinor} /> → <bdi>{seen.name}</bdi>
          </p>
          <p>{text(`paying.explain.${name}`)}</p>
          <TextField name="message" label={text('paying.reason')} description={text('paying.reasonHelp')} required />
        </Form>
      ) : (
        <WithdrawalChanged now={now} error={action.error} onClose={onClose} />
      )}
    </Dialog>
  )
}
