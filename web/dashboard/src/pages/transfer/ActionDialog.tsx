import { useState } from 'react'
import type { StoryItem, TransferDetail } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { ActionFields } from './ActionFields'
import { TransferChanged } from './TransferChanged'
import { act, type DialogAction } from './transfer-actions'

interface ActionDialogProps {
  readonly action: DialogAction
  /** As it is now. */
  readonly detail: TransferDetail
  readonly story: readonly StoryItem[]
  readonly onDone: (answer: TransferDetail) => void
  readonly onFailed: () => void
  readonly onClose: () => void
}

/**
 * Decides by what the user saw when it opened. Once the transfer is another, it says what others did, and goes on only when the user
 * says so, by what is shown then.
 */
export function ActionDialog({ action, detail, story, onDone, onFailed, onClose }: ActionDialogProps) {
  const text = useText()
  const [seen, setSeen] = useState(detail)
  const submission = useAction<FormData, TransferDetail>({
    run: (data) =>
      act(action, seen, data).catch((error: unknown) => {
        onFailed()
        throw error
      }),
    done: onDone,
  })
  const isChanged = detail.revision !== seen.revision && !submission.pending
  const isPossible = detail.actions.includes(action)
  const meanwhile = isChanged && (
    <TransferChanged
      seen={seen}
      now={detail}
      story={story}
      {...(isPossible && {
        onGoOn: () => {
          setSeen(detail)
          submission.reset()
        },
      })}
      onClose={onClose}
    />
  )
  return (
    <Dialog title={text(`transfer.actionTitle.${action}`, { reference: detail.referenceId })} open onClose={onClose}>
      {isChanged && !isPossible ? (
        meanwhile
      ) : (
        <Form
          onSubmit={submission.start}
          error={isChanged ? null : submission.error}
          submit={text(`common.action.${action}`)}
          pending={submission.pending}
          cancel={onClose}
          danger={action === 'cancel'}
        >
          {meanwhile}
          <ActionFields action={action} seen={seen} isRefused={submission.error !== null} />
        </Form>
      )}
    </Dialog>
  )
}
