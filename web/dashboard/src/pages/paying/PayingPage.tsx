import { useCallback, useState } from 'react'
import type { TransferRow } from '../../api/contract'
import { usePermission } from '../../app/current-session'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { notify } from '../../components/Toasts'
import { BankFileDialog } from './BankFileDialog'
import { BulkBar } from './BulkBar'
import { BulkDialog } from './BulkDialog'
import { CurrentWithdrawal } from './CurrentWithdrawal'
import { useClaimTimers } from './claim-timers'
import { KeysDialog } from './KeysDialog'
import { type PayingKey, usePayingKeys } from './paying-keys'
import { QueueList } from './QueueList'
import { usePaymentQueue } from './use-payment-queue'
import { useRefreshQueue } from './use-quick-action'
import './PayingPage.css'

type Opened = 'claim' | 'complete' | 'file' | 'keys'

export function PayingPage() {
  const merchantId = useMerchant()
  return <Paying key={merchantId} merchantId={merchantId} />
}

function Paying({ merchantId }: { readonly merchantId: string | undefined }) {
  const text = useText()
  const canSettle = usePermission('transfers:settle')
  const { query, items, hasMore, remember, known } = usePaymentQueue(merchantId)
  const refreshQueue = useRefreshQueue()
  const [opened, setOpened] = useState<Opened>()
  const { currentId, setCurrentId, move, leave } = useCurrent(items)
  const { chosen, selectedIds, toggle, select, clear } = useSelection(items)
  const [pressed, setPressed] = useState<{ readonly key: PayingKey }>()

  useClaimNotices(items, refreshQueue)
  const onKey = useCallback(
    (key: PayingKey) => {
      if (key === 'next') move(1)
      else if (key === 'previous') move(-1)
      else if (key === 'select') currentId !== undefined && toggle(currentId)
      else if (key === 'help') setOpened('keys')
      else setPressed({ key })
    },
    [move, toggle, currentId],
  )
  const keys = usePayingKeys(onKey)
  const close = () => setOpened(undefined)

  return (
    <Page
      title={text('paying.title')}
      actions={
        <Button look="quiet" onPress={() => setOpened('keys')}>
          {text('paying.keys')} <kbd aria-hidden>?</kbd>
        </Button>
      }
    >
      <Loaded query={query}>
        {() =>
          items.length === 0 && currentId === undefined ? (
            <Empty title={text('paying.empty')}>{text('paying.emptyHelp')}</Empty>
          ) : (
            <>
              {canSettle && (
                <BulkBar items={items} chosen={chosen} onSelect={select} onClear={clear} onOpen={setOpened} />
              )}
              <div className="Paying">
                <div className="Paying-list stack">
                  <QueueList
                    items={items}
                    currentId={currentId}
                    onCurrent={setCurrentId}
                    selected={selectedIds}
                    onSelect={toggle}
                  />
                  {items.length === 0 && <p className="muted">{text('paying.emptyHelp')}</p>}
                  {hasMore && <p className="muted">{text('paying.more', { count: items.length })}</p>}
                </div>
                {currentId !== undefined && (
                  <CurrentWithdrawal
                    key={currentId}
                    trackingId={currentId}
                    pressed={pressed}
                    ownRevision={known.get(currentId)?.revision ?? 0}
                    remember={remember}
                    onSettled={leave}
                  />
                )}
              </div>
            </>
          )
        }
      </Loaded>
      {(opened === 'claim' || opened === 'complete') && (
        <BulkDialog action={opened} transfers={chosen} onClose={close} onResult={remember} onFailed={refreshQueue} />
      )}
      {opened === 'file' && <BankFileDialog transfers={chosen.filter(({ claim }) => claim?.mine)} onClose={close} />}
      <KeysDialog open={opened === 'keys'} onClose={close} on={keys.on} onChange={keys.change} />
    </Page>
  )
}

/** Keeps track of the current withdrawal. It stays current after another user has settled it, until the user moves on. */
function useCurrent(items: readonly TransferRow[]) {
  const [currentId, setCurrentId] = useState<string>()
  const [lastIndex, setLastIndex] = useState(0)
  const index = items.findIndex(({ trackingId }) => trackingId === currentId)
  if (currentId === undefined && items[0]) setCurrentId(items[0].trackingId)
  if (index >= 0 && index !== lastIndex) setLastIndex(index)
  const move = useCallback(
    (by: 1 | -1) => {
      // After the current withdrawal has left the queue, the next one is at its index.
      const to = index >= 0 ? index + by : lastIndex + Math.min(by, 0)
      const next = items[Math.min(Math.max(to, 0), items.length - 1)]
      if (next) setCurrentId(next.trackingId)
    },
    [items, index, lastIndex],
  )
  /** Moves to the next withdrawal when the current one leaves the queue. */
  const leave = () => setCurrentId((items[index + 1] ?? items[index - 1])?.trackingId)
  return { currentId, setCurrentId, move, leave }
}

function useSelection(items: readonly TransferRow[]) {
  const [selectedIds, setSelectedIds] = useState<ReadonlySet<string>>(new Set())
  const chosen = items.filter(({ trackingId }) => selectedIds.has(trackingId))
  const toggle = useCallback((trackingId: string) => {
    setSelectedIds((previous) => {
      const next = new Set(previous)
      if (!next.delete(trackingId)) next.add(trackingId)
      return next
    })
  }, [])
  const select = (rows: readonly TransferRow[]) => setSelectedIds(new Set(rows.map(({ trackingId }) => trackingId)))
  const clear = () => setSelectedIds(new Set())
  return { chosen, selectedIds, toggle, select, clear }
}

/** Warns the user before a claim ends, and when it has ended. */
function useClaimNotices(items: readonly TransferRow[], refreshQueue: (trackingId: string) => void): void {
  const text = useText()
  const onEndsSoon = useCallback(
    ({ referenceId }: TransferRow) => notify(text('paying.claimEndsSoon', { reference: referenceId }), 'plain'),
    [text],
  )
  const onEnded = useCallback(
    ({ referenceId, trackingId }: TransferRow) => {
      notify(text('paying.claimEnded', { reference: referenceId }), 'bad')
      refreshQueue(trackingId)
    },
    [text, refreshQueue],
  )
  useClaimTimers(items, { onEndsSoon, onEnded })
}
