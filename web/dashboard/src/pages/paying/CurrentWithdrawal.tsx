import { useEffect, useRef, useState } from 'react'
import type { TransferDetail } from '../../api/contract'
import { useText } from '../../app/texts'
import { Loaded } from '../../components/Loaded'
import { useServerWords } from '../../components/server-words'
import { notify } from '../../components/Toasts'
import { CompleteDialog } from './CompleteDialog'
import { MessageDialog } from './MessageDialog'
import { PayPanel } from './PayPanel'
import type { KeyedAction, PayingKey } from './paying-keys'
import { isWaiting } from './payment-queue'
import { useWithdrawal } from './use-payment-queue'
import { type DirectAction, useRefetch, useSettling } from './use-settling'

interface CurrentWithdrawalProps {
  readonly trackingId: string
  /** The last key that means one of its actions. */
  readonly pressed: { readonly key: PayingKey } | undefined
  /** As one's own last action left it; 0 when there was none. */
  readonly ownRevision: number
  readonly remember: (transfers: readonly TransferDetail[]) => void
  /** It has left the queue by one's own hand. */
  readonly onSettled: () => void
}

const directActions: readonly KeyedAction[] = ['claim', 'release', 'approve'] satisfies DirectAction[]

function isDirect(action: KeyedAction): action is DirectAction {
  return directActions.includes(action)
}

interface Asked {
  readonly action: Exclude<KeyedAction, DirectAction>
  readonly seen: TransferDetail
}

export function CurrentWithdrawal(props: CurrentWithdrawalProps) {
  const { trackingId, pressed, ownRevision, remember, onSettled } = props
  const text = useText()
  const { name } = useServerWords()
  const query = useWithdrawal(trackingId)
  const refetch = useRefetch()
  const [asked, setAsked] = useState<Asked>()
  const [firstRevision, setFirstRevision] = useState<number>()
  const settling = useSettling(remember, ({ action, transfer }) =>
    notify(text(`paying.done.${action}`, { reference: transfer.referenceId })),
  )
  const transfer = query.data
  if (transfer && firstRevision === undefined) setFirstRevision(transfer.revision)
  // What was there at first, and what came by one's own actions, is no news.
  const knownRevision = Math.max(firstRevision ?? Number.POSITIVE_INFINITY, ownRevision)

  const start = (action: KeyedAction) => {
    if (!transfer || settling.pending) return
    if (!transfer.actions.includes(action)) notify(whyNot(text, name, action, transfer), 'plain')
    else if (isDirect(action)) settling.start({ action, transfer })
    else setAsked({ action, seen: transfer })
  }
  usePressed(pressed, start)

  const close = () => setAsked(undefined)
  const done = (after: TransferDetail) => {
    remember([after])
    close()
    notify(text(`paying.now.${after.status}`, { reference: after.referenceId }))
    if (!isWaiting(after)) onSettled()
  }
  return (
    <div className="Paying-current">
      <Loaded query={query}>
        {(now) => {
          const dialog = {
            seen: asked?.seen ?? now,
            now,
            onClose: close,
            onDone: done,
            onFailed: () => refetch(trackingId),
          }
          return (
            <>
              <PayPanel
                transfer={now}
                changed={!settling.pending && !settling.error && now.revision > knownRevision}
                pending={settling.pending ? settling.started : undefined}
                error={settling.error}
                onAction={start}
              />
              {asked?.action === 'complete' && <CompleteDialog {...dialog} />}
              {asked && asked.action !== 'complete' && <MessageDialog action={asked.action} {...dialog} />}
            </>
          )
        }}
      </Loaded>
    </div>
  )
}

const paysOut: readonly KeyedAction[] = ['claim', 'approve', 'complete']

function whyNot(
  text: ReturnType<typeof useText>,
  name: ReturnType<typeof useServerWords>['name'],
  action: KeyedAction,
  { claim, approval, payoutsStopped }: TransferDetail,
): string {
  if (claim && !claim.mine) return text('paying.notClaimedByOther', { name: name(claim.name) })
  if (payoutsStopped && paysOut.includes(action)) return text('shell.payoutsStoppedHelp')
  if (action === 'complete' && approval.needed && !approval.by) return text('paying.notApproved')
  if (action === 'claim' && claim?.mine) return text('paying.notAlreadyMine')
  if (!claim && action !== 'approve' && action !== 'claim') return text('paying.notUnclaimed')
  return text('paying.notAllowed')
}

/** Each press once, however often the page is drawn. */
function usePressed(pressed: { readonly key: PayingKey } | undefined, start: (action: KeyedAction) => void): void {
  const handled = useRef(pressed)
  useEffect(() => {
    if (!pressed || handled.current === pressed) return
    handled.current = pressed
    start(pressed.key as KeyedAction)
  })
}
