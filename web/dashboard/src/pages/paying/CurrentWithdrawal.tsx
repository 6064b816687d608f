import { useEffect, useRef, useState } from 'react'
import type { TransferDetail } from '../../api/contract'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { Loaded } from '../../components/Loaded'
import { notify } from '../../components/Toasts'
import { ActionDialog } from '../transfer/ActionDialog'
import { useTransfer } from '../transfer/use-transfer'
import { PayPanel } from './PayPanel'
import type { KeyedAction, PayingKey } from './paying-keys'
import { isWaiting } from './payment-queue'
import { pollMs } from './use-payment-queue'
import { type QuickAction, useQuickAction, useRefreshQueue } from './use-quick-action'

interface CurrentWithdrawalProps {
  readonly trackingId: string
  /** The last pressed key that stands for an action. */
  readonly pressed: { readonly key: PayingKey } | undefined
  /** The revision after the user's own last action; 0 before the first one. */
  readonly ownRevision: number
  readonly remember: (transfers: readonly TransferDetail[]) => void
  /** Called when an action of the user has removed the withdrawal from the queue. */
  readonly onSettled: () => void
}

const quickActions: readonly KeyedAction[] = ['claim', 'release', 'approve'] satisfies QuickAction[]

function isQuick(action: KeyedAction): action is QuickAction {
  return quickActions.includes(action)
}

export function CurrentWithdrawal(props: CurrentWithdrawalProps) {
  const { trackingId, pressed, ownRevision, remember, onSettled } = props
  const text = useText()
  const actorName = useActorName()
  const query = useTransfer(trackingId, pollMs)
  const refreshQueue = useRefreshQueue()
  const [opened, setOpened] = useState<Exclude<KeyedAction, QuickAction>>()
  const [firstRevision, setFirstRevision] = useState<number>()
  const quick = useQuickAction(remember)
  const transfer = query.data
  if (transfer && firstRevision === undefined) setFirstRevision(transfer.revision)
  // The first revision shown, and those after the user's own actions, are not reported as changes.
  const knownRevision = Math.max(firstRevision ?? Number.POSITIVE_INFINITY, ownRevision)

  const start = (action: KeyedAction) => {
    if (!transfer || quick.pending) return
    if (!transfer.actions.includes(action)) notify(whyNot(text, actorName, action, transfer), 'plain')
    else if (isQuick(action)) quick.start({ action, transfer })
    else setOpened(action)
  }
  usePressed(pressed, start)

  const onDone = (result: TransferDetail) => {
    remember([result])
    setOpened(undefined)
    if (opened) notify(text(`transfer.done.${opened}`, { reference: result.referenceId }))
    if (!isWaiting(result)) onSettled()
  }
  return (
    <div className="Paying-current">
      <Loaded query={query}>
        {(now) => (
          <>
            <PayPanel
              transfer={now}
              hasChanged={!quick.pending && !quick.error && now.revision > knownRevision}
              pending={quick.pending ? quick.action : undefined}
              error={quick.error}
              onAction={start}
            />
            {opened && (
              <ActionDialog
                key={opened}
                action={opened}
                detail={now}
                onDone={onDone}
                onFailed={() => refreshQueue(trackingId)}
                onClose={() => setOpened(undefined)}
              />
            )}
          </>
        )}
      </Loaded>
    </div>
  )
}

const payoutActions: readonly KeyedAction[] = ['claim', 'approve', 'complete']

/** Returns why an action is not possible now. */
function whyNot(
  text: ReturnType<typeof useText>,
  actorName: ReturnType<typeof useActorName>,
  action: KeyedAction,
  { claim, approval, payoutsStopped }: TransferDetail,
): string {
  if (claim && !claim.mine) return text('paying.whyNot.claimedByOther', { name: actorName(claim.name) })
  if (payoutsStopped && payoutActions.includes(action)) return text('shell.payoutsStoppedHelp')
  if (action === 'complete' && approval.needed && !approval.by) return text('paying.whyNot.notApproved')
  if (action === 'claim' && claim?.mine) return text('paying.whyNot.alreadyMine')
  if (!claim && action !== 'approve' && action !== 'claim') return text('paying.whyNot.unclaimed')
  return text('paying.whyNot.notAllowed')
}

/** Starts the action of a key press once, however often the component renders. */
function usePressed(pressed: { readonly key: PayingKey } | undefined, start: (action: KeyedAction) => void): void {
  const handled = useRef(pressed)
  useEffect(() => {
    if (!pressed || handled.current === pressed) return
    handled.current = pressed
    start(pressed.key as KeyedAction)
  })
}
