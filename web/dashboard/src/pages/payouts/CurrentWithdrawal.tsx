import { useState } from 'react'
import { isTerminal } from '../../../../../src/domain/transfer/status'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { Loaded } from '../../components/Loaded'
import { notify } from '../../components/Toasts'
import { type DialogAction, isDirect } from '../transfer/transfer-actions'
import { useTransfer } from '../transfer/use-transfer'
import { PayPanel } from './PayPanel'
import { actionKeys, type KeyedAction, type PayoutKey, type PressedKey } from './payout-keys'
import { usePressed } from './use-pressed'
import { useQuickAction, useRefreshQueue } from './use-quick-action'

interface CurrentWithdrawalProps {
  readonly trackingId: string
  /** The last pressed key that concerns the withdrawal. */
  readonly pressed: PressedKey | undefined
  /** The revision after the user's own last action; 0 before the first one. */
  readonly ownRevision: number
  readonly remember: (transfers: readonly TransferDetail[]) => void
  /** Called when an action of the user has removed the withdrawal from the queue. */
  readonly onSettled: () => void
  /** Closes the sheet of a phone. */
  readonly onClose: () => void
}

export function CurrentWithdrawal(props: CurrentWithdrawalProps) {
  const { trackingId, pressed, ownRevision, remember, onSettled, onClose } = props
  const text = useText()
  const actorName = useActorName()
  const query = useTransfer(trackingId)
  const refreshQueue = useRefreshQueue()
  const [asked, setAsked] = useState<DialogAction>()
  const [firstRevision, setFirstRevision] = useState<number>()
  const quick = useQuickAction(remember)
  const transfer = query.data
  if (transfer && firstRevision === undefined) setFirstRevision(transfer.revision)
  // The first revision shown, and those after the user's own actions, are not reported as changes.
  const knownRevision = Math.max(firstRevision ?? Number.POSITIVE_INFINITY, ownRevision)

  const start = (action: KeyedAction) => {
    if (!transfer || quick.pending) return
    if (!transfer.actions.includes(action)) notify(unavailableReason(text, actorName, action, transfer), 'plain')
    else if (isDirect(action)) quick.start({ action, transfer })
    else setAsked(action)
  }
  usePressed(pressed, (key) => {
    if (isAction(key)) start(key)
  })

  const onDone = (result: TransferDetail) => {
    remember([result])
    setAsked(undefined)
    if (asked) notify(text(`transfer.done.${asked}`, { reference: result.referenceId }))
    if (isTerminal(result.status)) onSettled()
  }
  return (
    <div className="Payouts-current">
      <Loaded query={query}>
        {(now) => (
          <PayPanel
            transfer={now}
            hasChanged={!quick.pending && !quick.error && !asked && now.revision > knownRevision}
            pressed={pressed}
            pending={quick.pending ? quick.action : undefined}
            error={quick.error}
            asked={asked}
            onAction={start}
            onDone={onDone}
            onFailed={() => refreshQueue(trackingId)}
            onAnswered={() => setAsked(undefined)}
            onClose={onClose}
          />
        )}
      </Loaded>
    </div>
  )
}

function isAction(key: PayoutKey): key is KeyedAction {
  return (Object.values(actionKeys) as readonly string[]).includes(key)
}

const payoutActions: readonly KeyedAction[] = ['claim', 'approve', 'complete']

/** Returns why an action is not possible now. */
function unavailableReason(
  text: ReturnType<typeof useText>,
  actorName: ReturnType<typeof useActorName>,
  action: KeyedAction,
  { claim, approval, payoutsStopped }: TransferDetail,
): string {
  if (claim && !claim.mine) return text('payouts.unavailableReason.claimedByOther', { name: actorName(claim.name) })
  if (payoutsStopped && payoutActions.includes(action)) return text('shell.payoutsStoppedHelp')
  if (action === 'complete' && approval.needed && !approval.by) return text('payouts.unavailableReason.notApproved')
  if (action === 'claim' && claim?.mine) return text('payouts.unavailableReason.alreadyMine')
  if (!claim && action !== 'approve' && action !== 'claim') return text('payouts.unavailableReason.unclaimed')
  return text('payouts.unavailableReason.notAllowed')
}
