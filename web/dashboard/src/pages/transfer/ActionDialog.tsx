import { useState } from 'react'
import type { TransferDetail } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { ActionFields } from './ActionFields'
import { TransferChanged } from './TransferChanged'
import { act, type DialogAction } from './transfer-actions'

interface ActionDialogProps {
  readonly action: DialogAction
  /** The current state of the transfer. */
  readonly detail: TransferDetail
  readonly onDone: (detail: TransferDetail) => void
  readonly onFailed: () => void
  readonly onClose: () => void
}

/**
 * Carries out an action on the state of the transfer that the user saw when the dialog opened. If the transfer changes in the meantime, the
 * dialog shows the changes, and continues only when the user accepts the current state.
 */
export function ActionDialog({ action, detail, onDone, onFailed, onClose }: ActionDialogProps) {
  const text = useText()
  const [seen, setSeen] = useState(detail)
  const submission = useAction<FormData, TransferDetail>({
    run: (data) =>
      act(action, seen, data).catch((error: unknown) => {
        onFailed()
        throw error
      }),
    onSuccess: onDone,
  })
  const hasChanged = detail.revision !== seen.revision && !submission.pending
  const isPossible = detail.actions.includes(action)
  const accept = () => {
    setSeen(detail)
    submission.reset()
  }
  const changes = hasChanged && (
    <TransferChanged seen={seen} now={detail} {...(isPossible && { onAccept: accept })} onClose={onClose} />
  )
  return (
    <Dialog title={text(`transfer.actionTitle.${action}`, { reference: detail.referenceId })} open onClose={onClose}>
      {hasChanged && !isPossible ? (
        changes
      ) : (
        <Form
          onSubmit={submission.start}
          error={hasChanged ? null : submission.error}
          submit={text(`common.action.${action}`)}
          pending={submission.pending}
          cancel={onClose}
          danger={action === 'cancel'}
        >
          {changes}
          <ActionFields action={action} seen={seen} wasRefused={submission.error !== null} />
        </Form>
      )}
    </Dialog>
  )
}
