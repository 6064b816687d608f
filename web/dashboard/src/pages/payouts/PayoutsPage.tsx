import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { type PayoutTab, payoutTabs } from '../../../../../src/domain/transfer/payout-queue'
import type { TransferRow } from '../../../../../src/http/dashboard/api'
import { usePermission } from '../../app/current-session'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { notify } from '../../components/Toasts'
import { BankFileDialogLater } from './BankFileDialogLater'
import { BulkBar } from './BulkBar'
import { BulkDialog } from './BulkDialog'
import { CurrentWithdrawal } from './CurrentWithdrawal'
import { useClaimTimers } from './claim-timers'
import { isPhone } from './is-phone'
import { KeysDialog } from './KeysDialog'
import { keyOf, type PayoutKey, type PressedKey, usePayoutKeys } from './payout-keys'
import { QueueList } from './QueueList'
import { QueueSum } from './QueueSum'
import { QueueTabs } from './QueueTabs'
import { usePayoutQueue } from './use-payout-queue'
import { useRefreshQueue } from './use-quick-action'
import './PayoutsPage.css'

type Opened = 'claim' | 'complete' | 'file' | 'keys'

const route = getRouteApi('/pages/pay')
export function PayoutsPage() {
  const merchantId = useMerchant()
  const { tab } = route.useSearch()
  const chosenTab = payoutTabs.find((each) => each === tab) ?? 'all'
  return <Payouts key={`${merchantId} ${chosenTab}`} merchantId={merchantId} tab={chosenTab} />
}

interface PayoutsProps {
  readonly merchantId: string | undefined
  readonly tab: PayoutTab
}

function Payouts({ merchantId, tab }: PayoutsProps) {
  const text = useText()
  const navigate = route.useNavigate()
  const { sheet } = route.useSearch()
  const canApprove = usePermission('transfers:approve')
  const { query, answer, items, remember, known } = usePayoutQueue(merchantId, tab)
  const refreshQueue = useRefreshQueue()
  const [opened, setOpened] = useState<Opened>()
  const { currentId, setCurrentId, move, leave } = useCurrent(items, sheet)
  const [withManual, setWithManual] = useState(false)
  const { chosen, selectedIds, toggle, select } = useSelection(items)
  const [pressed, setPressed] = useState<PressedKey>()
  const [filed, setFiled] = useState<ReadonlyMap<string, number>>(new Map())
  const canSelect = useCallback(
    ({ canPay, status }: TransferRow) => canPay && (status !== 'ManualControl' || withManual),
    [withManual],
  )

  useClaimNotices(items, refreshQueue)
  const toggleCurrent = useCallback(() => {
    const row = items.find(({ trackingId }) => trackingId === currentId)
    if (!row) return
    if (selectedIds.has(row.trackingId) || canSelect(row)) toggle(row.trackingId)
    else notify(text('payouts.unavailableReason.notSelectable'), 'plain')
  }, [items, currentId, selectedIds, canSelect, toggle, text])
  const hasFile = chosen.some(({ claim }) => claim?.mine)
  const onKey = useCallback(
    (key: PayoutKey) => {
      if (key === 'next') move(1)
      else if (key === 'previous') move(-1)
      else if (key === 'select') toggleCurrent()
      else if (key === 'help') setOpened('keys')
      else if (key !== 'file') setPressed({ key })
      else if (hasFile) setOpened('file')
      else notify(text('payouts.unavailableReason.noFile'), 'plain')
    },
    [move, toggleCurrent, hasFile, text],
  )
  const keys = usePayoutKeys(onKey)
  const close = () => setOpened(undefined)
  const showSheet = (trackingId: string | undefined, replace = false) =>
    void navigate({ search: (previous) => ({ ...previous, sheet: trackingId }), replace, resetScroll: false })
  const openRow = (trackingId: string) => {
    setCurrentId(trackingId)
    if (isPhone()) showSheet(trackingId)
  }

  return (
    <div className="Payouts" data-sheet={sheet !== undefined || undefined}>
      <Page title={text('payouts.title')} actions={<KeysHint onOpen={() => setOpened('keys')} />}>
        <QueueTabs tab={tab} tabs={answer?.tabs} uncounted={answer?.uncounted ?? false} canApprove={canApprove} />
        <Loaded query={query}>
          {() => (
            <div className="Payouts-list">
              <QueueSum
                items={items}
                sum={answer?.tabs.find((each) => each.tab === tab)}
                selectedIds={selectedIds}
                canSelect={canSelect}
                onSelect={select}
                withManual={withManual}
                onManual={setWithManual}
              />
              {answer && items.length === 0 && (
                <Empty title={text(`payouts.empty.${tab}`)}>{text('payouts.emptyHelp')}</Empty>
              )}
              <QueueList
                items={items}
                currentId={currentId}
                onCurrent={openRow}
                selected={selectedIds}
                isSelectable={canSelect}
                onSelect={toggle}
              />
              {answer?.more && <p className="Payouts-more">{text('payouts.more', { count: items.length })}</p>}
              <BulkBar chosen={chosen} onClear={() => select([])} onOpen={setOpened} />
            </div>
          )}
        </Loaded>
      </Page>
      {currentId !== undefined && (
        <CurrentWithdrawal
          key={currentId}
          trackingId={currentId}
          pressed={pressed}
          ownRevision={Math.max(
            known.find((row) => row.trackingId === currentId)?.revision ?? 0,
            filed.get(currentId) ?? 0,
          )}
          remember={remember}
          onSettled={() => {
            leave()
            if (sheet !== undefined) showSheet(undefined, true)
          }}
          onClose={() => showSheet(undefined, true)}
        />
      )}
      {(opened === 'claim' || opened === 'complete') && (
        <BulkDialog
          action={opened}
          transfers={chosen.filter(({ claim }) => (claim?.mine === true) === (opened === 'complete'))}
          onClose={close}
          onResult={remember}
          onFailed={refreshQueue}
          onSelect={select}
          onOpen={openRow}
        />
      )}
      {opened === 'file' && (
        <BankFileDialogLater
          transfers={chosen.filter(({ claim }) => claim?.mine)}
          onSaved={(saved) => {
            // The file is one event of each withdrawal, so the user knows the revision after it.
            const revisions = saved.map(({ trackingId, revision }) => [trackingId, revision + 1] as const)
            setFiled(new Map([...filed, ...revisions]))
            refreshQueue(currentId)
          }}
          onClose={close}
        />
      )}
      <KeysDialog open={opened === 'keys'} onClose={close} on={keys.on} onChange={keys.change} />
    </div>
  )
}

const hints = [
  [['next', 'previous'], 'move'],
  [['select'], 'select'],
  [['claim'], 'claim'],
  [['complete'], 'paid'],
] as const

/** Shows the most used keys, and opens the list of all. */
function KeysHint({ onOpen }: { readonly onOpen: () => void }) {
  const text = useText()
  return (
    <>
      <span className="Payouts-hint" aria-hidden>
        {hints.map(([keys, hint]) => (
          <span key={hint} className="Payouts-hint">
            {keys.map((key) => (
              <kbd key={key}>{keyOf(key)}</kbd>
            ))}
            {text(`payouts.hint.${hint}`)}
          </span>
        ))}
      </span>
      <Button look="quiet" small onPress={onOpen}>
        <kbd aria-hidden>?</kbd> {text('payouts.hint.all')}
      </Button>
    </>
  )
}

/** Keeps track of the current withdrawal. It stays current after another user has settled it, until the user moves on. */
function useCurrent(items: readonly TransferRow[], sheet: string | undefined) {
  const [currentId, setCurrentId] = useState(sheet)
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
  const leave = () => {
    const others = items.filter(({ trackingId }) => trackingId !== currentId)
    setCurrentId((others[index >= 0 ? index : lastIndex] ?? others.at(-1))?.trackingId)
  }
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
  const select = useCallback((trackingIds: readonly string[]) => setSelectedIds(new Set(trackingIds)), [])
  return { chosen, selectedIds, toggle, select }
}

/** Warns the user before a claim ends, and when it has ended. */
function useClaimNotices(items: readonly TransferRow[], refreshQueue: (trackingId: string) => void): void {
  const text = useText()
  const onEndsSoon = useCallback(
    ({ referenceId }: TransferRow) => notify(text('payouts.claimEndsSoon', { reference: referenceId }), 'plain'),
    [text],
  )
  const onEnded = useCallback(
    ({ referenceId, trackingId }: TransferRow) => {
      notify(text('payouts.claimEnded', { reference: referenceId }), 'bad')
      refreshQueue(trackingId)
    },
    [text, refreshQueue],
  )
  useClaimTimers(items, { onEndsSoon, onEnded })
}
