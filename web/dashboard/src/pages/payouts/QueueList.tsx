import { Hand, Landmark, Lock, Timer, UserCheck } from 'lucide-react'
import { useEffect, useRef } from 'react'
import type { TransferRow } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { shortAccount } from '../../components/account-number'
import { Flag } from '../../components/Badge'
import { useExceededText } from '../../components/exceeded-limits'
import { Age } from '../../components/Time'
import { activeClaim, leftMs, minutesAndSeconds } from './claim-time'
import { useSecondClock } from './claim-timers'
import { isPhone } from './is-phone'

interface QueueListProps {
  readonly items: readonly TransferRow[]
  readonly currentId: string | undefined
  readonly onCurrent: (trackingId: string) => void
  readonly selected: ReadonlySet<string>
  readonly isSelectable: (row: TransferRow) => boolean
  readonly onSelect: (trackingId: string) => void
}

export function QueueList({ items, currentId, onCurrent, selected, isSelectable, onSelect }: QueueListProps) {
  const text = useText()
  const merchantName = useMerchantName()
  const list = useRowFocus(currentId)
  return (
    <ol className="QueueList" aria-label={text('payouts.queue')} ref={list}>
      {items.map((row) => {
        const isSelected = selected.has(row.trackingId)
        return (
          <li
            key={row.trackingId}
            className="QueueList-row"
            data-current={row.trackingId === currentId || undefined}
            data-selected={isSelected || undefined}
          >
            <label className="QueueList-check">
              <input
                type="checkbox"
                aria-label={text('payouts.select', { reference: row.referenceId })}
                checked={isSelected}
                disabled={!isSelected && !isSelectable(row)}
                onChange={() => onSelect(row.trackingId)}
              />
            </label>
            <span className="QueueList-amount">
              <Amount minor={row.amountMinor} />
            </span>
            <span className="QueueList-line">
              <button
                type="button"
                data-row={row.trackingId}
                aria-current={row.trackingId === currentId}
                className="QueueList-open cut"
                onClick={() => onCurrent(row.trackingId)}
              >
                <bdi>{row.name}</bdi>
              </button>
              <QueueFlag row={row} />
            </span>
            <span className="QueueList-under">
              <span>{shortAccount(row.accountNumber ?? '')}</span>
              <bdi className="cut">{row.referenceId}</bdi>
              <bdi className="cut">{merchantName(row.merchantId)}</bdi>
            </span>
            <span className="QueueList-age">
              <Age at={row.createdAt} />
            </span>
          </li>
        )
      })}
    </ol>
  )
}

/** Shows the one thing to know before acting: manual control, a missing approval, a bank file, or the claim. */
function QueueFlag({ row }: { readonly row: TransferRow }) {
  const text = useText()
  const actorName = useActorName()
  const nowMs = useSecondClock()
  const exceededText = useExceededText()
  const { status, awaitsApproval, bankFile, exceeded } = row
  const claim = activeClaim(row.claim, nowMs)
  if (status === 'ManualControl') {
    return (
      <Flag tone="person" icon={Hand}>
        {text('common.status.ManualControl')}
      </Flag>
    )
  }
  if (awaitsApproval) {
    return (
      <Flag tone="second" icon={UserCheck} title={exceededText(exceeded)}>
        {text('payouts.needsApproval')}
      </Flag>
    )
  }
  if (bankFile) {
    return (
      <Flag {...(claim?.mine && { tone: 'accent' })} icon={Landmark}>
        {text('payouts.fileFlag', { name: actorName(bankFile.name) })}
      </Flag>
    )
  }
  if (!claim) return null
  if (!claim.mine) return <Flag icon={Lock}>{actorName(claim.name)}</Flag>
  return (
    <Flag tone="accent" icon={Timer}>
      {text('payouts.yours', { left: minutesAndSeconds(leftMs(claim, nowMs)) })}
    </Flag>
  )
}

/** Moves the focus along with the current row, unless the focus is elsewhere on the page. */
function useRowFocus(currentId: string | undefined) {
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    // On a phone, the focus would only mark a row that is not open.
    if (isPhone()) return
    const row = currentId && list.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(currentId)}"]`)
    if (!row) return
    const focused = document.activeElement
    const isUnfocused = focused === null || focused === document.body || focused.matches('h1')
    if (isUnfocused || list.current?.contains(focused)) row.focus({ preventScroll: true })
    row.scrollIntoView({ block: 'nearest' })
  }, [currentId])
  return list
}
