import { useEffect, useRef } from 'react'
import type { TransferRow } from '../../api/contract'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { StatusBadge } from '../../components/Badge'
import { Time } from '../../components/Time'
import { BankFileChip } from './BankFileChip'
import { ClaimChip } from './ClaimChip'

interface QueueListProps {
  readonly items: readonly TransferRow[]
  readonly currentId: string | undefined
  readonly onCurrent: (trackingId: string) => void
  readonly selected: ReadonlySet<string>
  readonly onSelect: (trackingId: string) => void
}

export function QueueList({ items, currentId, onCurrent, selected, onSelect }: QueueListProps) {
  const text = useText()
  const merchantName = useMerchantName()
  const list = useRowFocus(currentId)
  return (
    <ol className="QueueList" aria-label={text('paying.queue')} ref={list}>
      {items.map((row) => (
        <li key={row.trackingId} className="QueueList-row" data-current={row.trackingId === currentId || undefined}>
          <input
            type="checkbox"
            className="QueueList-check"
            aria-label={text('paying.select', { reference: row.referenceId })}
            checked={selected.has(row.trackingId)}
            onChange={() => onSelect(row.trackingId)}
          />
          <button
            type="button"
            data-row={row.trackingId}
            aria-current={row.trackingId === currentId}
            className="QueueList-open"
            onClick={() => onCurrent(row.trackingId)}
          >
            <span className="QueueList-amount number">
              <Amount minor={row.amountMinor} />
            </span>
            <span className="QueueList-name">
              <bdi>{row.name}</bdi>
            </span>
            <span className="QueueList-merchant muted">
              <bdi>{merchantName(row.merchantId)}</bdi>
            </span>
          </button>
          <span className="QueueList-state">
            {row.status !== 'Pending' && <StatusBadge status={row.status} />}
            <ClaimChip claim={row.claim} />
            <BankFileChip bankFile={row.bankFile} />
          </span>
          <span className="QueueList-time muted">
            <Time at={row.createdAt} />
          </span>
        </li>
      ))}
    </ol>
  )
}

/** Moves the focus along with the current row, unless the focus is elsewhere on the page. */
function useRowFocus(currentId: string | undefined) {
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    const row = currentId && list.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(currentId)}"]`)
    if (!row) return
    const focused = document.activeElement
    const isUnfocused = focused === null || focused === document.body || focused.matches('h1')
    if (isUnfocused || list.current?.contains(focused)) row.focus()
    row.scrollIntoView({ block: 'nearest' })
  }, [currentId])
  return list
}
