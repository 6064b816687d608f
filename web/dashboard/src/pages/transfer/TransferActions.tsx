import {
  Check,
  Hand,
  HandCoins,
  Landmark,
  type LucideIcon,
  Pencil,
  RotateCcw,
  Scale,
  Undo2,
  UserCheck,
  X,
} from 'lucide-react'
import { useState } from 'react'
import type { TransferAction, TransferDetail } from '../../../../../src/http/dashboard/api'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Problem } from '../../components/Problem'
import { notify } from '../../components/Toasts'
import { ActionDialog } from './ActionDialog'
import { act, type DialogAction, type DirectAction, isDirect } from './transfer-actions'
import { useRefreshTransfer } from './use-transfer'

const icons: { readonly [action in TransferAction]: LucideIcon } = {
  claim: HandCoins,
  release: Undo2,
  approve: UserCheck,
  complete: Check,
  receive: Landmark,
  correct: Pencil,
  'approve-correction': UserCheck,
  'manual-control': Hand,
  cancel: X,
  return: Undo2,
  'payout-returned': Undo2,
  refund: Undo2,
  'pay-again': HandCoins,
  'approve-refund': UserCheck,
  'reject-refund': X,
  resolve: Scale,
  reopen: RotateCcw,
}

/** The order of the buttons. */
const order = [
  ...(['complete', 'receive', 'approve-correction', 'approve-refund', 'reject-refund', 'approve', 'claim'] as const),
  ...(['release', 'return', 'pay-again', 'resolve', 'reopen', 'manual-control', 'payout-returned'] as const),
  ...(['refund', 'correct', 'cancel'] as const),
]
/** The first possible one is the next step. */
const usualSteps = ['complete', 'approve-correction', 'approve-refund', 'approve', 'claim'] as const
const looks: { readonly [action in TransferAction]?: 'quiet' | 'bad' } = {
  ...({ 'payout-returned': 'quiet', correct: 'quiet', refund: 'quiet', cancel: 'bad' } as const),
}

/** Offers the actions that the server currently allows this user. */
export function TransferActions({ detail }: { readonly detail: TransferDetail }) {
  const text = useText()
  const [opened, setOpened] = useState<DialogAction>()
  const { trackingId, referenceId, kind } = detail
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
  const offered = order.filter((action) => detail.actions.includes(action))
  const steps: readonly TransferAction[] = detail.waitsForRest ? ['receive', ...usualSteps] : usualSteps
  const next = steps.find((action) => offered.includes(action))
  // An open dialog and a failed action stay visible, even if the transfer no longer allows any action.
  if (offered.length === 0 && !detail.payoutsStopped && !opened && !direct.error) return null
  return (
    <div className="TransferActions screen-only">
      {offered.length > 0 && (
        <div className="TransferActions-buttons">
          {offered.map((action) => {
            const Icon = icons[action]
            return (
              <Button
                key={action}
                look={action === next ? 'primary' : (looks[action] ?? 'plain')}
                pending={direct.pending}
                onPress={() => start(action)}
              >
                <Icon />
                {text(action === 'complete' ? `transfer.do.complete.${kind}` : `transfer.do.${action}`)}
              </Button>
            )
          })}
        </div>
      )}
      {detail.payoutsStopped && <p className="notice">{text('shell.payoutsStoppedHelp')}</p>}
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
