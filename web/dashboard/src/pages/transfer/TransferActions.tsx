import { useState } from 'react'
import type { StoryItem, TransferAction, TransferDetail } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Button, type Look } from '../../components/Button'
import { Problem } from '../../components/Problem'
import { notify } from '../../components/Toasts'
import { ActionDialog } from './ActionDialog'
import { act, type DialogAction, type DirectAction, isDirect } from './transfer-actions'
import { useRenewal } from './use-transfer'

const looks: Partial<Record<TransferAction, Look>> = {
  claim: 'primary',
  complete: 'primary',
  approve: 'primary',
  cancel: 'danger',
}

interface ActionsProps {
  readonly detail: TransferDetail
  readonly story: readonly StoryItem[]
}

/** What the server says that this user may do now. */
export function TransferActions({ detail, story }: ActionsProps) {
  const text = useText()
  const [opened, setOpened] = useState<DialogAction>()
  const renew = useRenewal(detail.trackingId)
  const direct = useAction<DirectAction, TransferDetail>({
    run: (action) =>
      act(action, detail).catch((error: unknown) => {
        renew()
        throw error
      }),
    done: (answer, action) => {
      renew(answer)
      notify(text(`transfer.done.${action}`))
    },
  })
  const start = (action: TransferAction) => {
    direct.reset()
    if (isDirect(action)) direct.start(action)
    else setOpened(action)
  }
  // What was begun says how it ended, though nothing can be done any more.
  if (detail.actions.length === 0 && !detail.payoutsStopped && !opened && !direct.error) return null
  return (
    <div className="TransferPage-actions screen-only">
      <div className="row">
        {detail.actions.map((action) => (
          <Button key={action} look={looks[action]} pending={direct.pending} onPress={() => start(action)}>
            {text(`common.action.${action}`)}
          </Button>
        ))}
      </div>
      {detail.payoutsStopped && <p>{text('shell.payoutsStoppedHelp')}</p>}
      <Problem error={direct.error} />
      {opened && (
        <ActionDialog
          key={opened}
          action={opened}
          detail={detail}
          story={story}
          onDone={(answer) => {
            renew(answer)
            setOpened(undefined)
            notify(text(`transfer.done.${opened}`))
          }}
          onFailed={() => renew()}
          onClose={() => setOpened(undefined)}
        />
      )}
    </div>
  )
}
