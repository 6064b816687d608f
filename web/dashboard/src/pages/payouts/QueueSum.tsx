import { useEffect, useRef } from 'react'
import type { PayoutQueueResponse, TransferRow } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Checkbox } from '../../components/Checkbox'

interface QueueSumProps {
  readonly items: readonly TransferRow[]
  /** The number and the sum of the tab, once they are fetched. */
  readonly sum: PayoutQueueResponse['tabs'][number] | undefined
  readonly selectedIds: ReadonlySet<string>
  readonly canSelect: (row: TransferRow) => boolean
  readonly onSelect: (trackingIds: readonly string[]) => void
  readonly withManual: boolean
  readonly onManual: (withManual: boolean) => void
}

/** Shows what waits, and selects all withdrawals that can be paid. */
export function QueueSum({ items, sum, selectedIds, canSelect, onSelect, withManual, onManual }: QueueSumProps) {
  const text = useText()
  const selectable = items.filter(canSelect).map(({ trackingId }) => trackingId)
  const selected = selectable.filter((trackingId) => selectedIds.has(trackingId)).length
  const isAll = selectable.length > 0 && selected === selectable.length
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (box.current) box.current.indeterminate = selected > 0 && !isAll
  }, [selected, isAll])
  const manual = items.filter(({ status }) => status === 'ManualControl').length
  return (
    <div className="QueueSum">
      <label className="QueueList-check">
        <input
          ref={box}
          type="checkbox"
          aria-label={text('payouts.selectAll', { count: selectable.length })}
          checked={isAll}
          disabled={selectable.length === 0}
          onChange={() => onSelect(isAll ? [] : selectable)}
        />
      </label>
      <output className="QueueSum-total">
        {sum && sum.count > 0 && (
          <>
            {text('payouts.waiting', { count: sum.count })}{' '}
            <strong>
              <Amount minor={BigInt(sum.sumMinor)} />
            </strong>
          </>
        )}
      </output>
      {manual > 0 && (
        <Checkbox
          isSelected={withManual}
          onChange={(next) => {
            const isKept = ({ trackingId, status }: TransferRow) =>
              selectedIds.has(trackingId) && status !== 'ManualControl'
            if (!next) onSelect(items.filter(isKept).map(({ trackingId }) => trackingId))
            onManual(next)
          }}
          label={text('payouts.withManual', { count: manual })}
        />
      )}
      <span className="QueueSum-order">{text('payouts.oldestFirst')}</span>
    </div>
  )
}
