import { useState } from 'react'
import type { TransferAction, TransferDetail } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Button, type Look } from '../../components/Button'
import { Problem } from '../../components/Problem'
import { notify } from '../../components/Toasts'
import { ActionDialog } from './ActionDialog'
import { act, type DialogAction, type DirectAction, isDirect } from './transfer-actions'
import { useRefreshTransfer } from './use-transfer'

const looks: Partial<Record<TransferAction, Look>> = {
  claim: 'primary',
  complete: 'primary',
  approve: 'primary',
  cancel: 'danger',
}

/** Offers the actions that the server currently allows this user. */
export function TransferActions({ detail }: { readonly detail: TransferDetail }) {
  const text = useText()
  const [opened, setOpened] = useState<DialogAction>()
  const { trackingId, referenceId } = detail
  const refresh = useRefreshTransfer(trackingId)
  const direct = useAction<DirectAction, TransferDetail>({
    run: (action) =>
      act(action, detail).catch((error: unknown) => {
        refresh()
        throw error
      }),
    onSuccess: (result, action) => {
      refresh(result)
      notify(text(`transfer.done.${action}`, { reference: referenceId }))
    },
  })
  const start = (action: TransferAction) => {
    direct.reset()
    if (isDirect(action)) direct.start(action)
    else setOpened(action)
  }
  // An open dialog and a failed action stay visible, even if the transfer no longer allows any action.
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
          onDone={(result) => {
            refresh(result)
            setOpened(undefined)
            notify(text(`transfer.done.${opened}`, { reference: referenceId }))
          }}
          onFailed={() => refresh()}
          onClose={() => setOpened(undefined)}
        />
      )}
    </div>
  )
}
