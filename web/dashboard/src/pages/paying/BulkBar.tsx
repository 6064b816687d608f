import type { TransferRow } from '../../api/contract'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Button } from '../../components/Button'

interface BulkBarProps {
  readonly items: readonly TransferRow[]
  readonly chosen: readonly TransferRow[]
  readonly onSelect: (rows: readonly TransferRow[]) => void
  readonly onClear: () => void
  readonly onOpen: (opened: 'claim' | 'complete' | 'file') => void
}

export function BulkBar({ items, chosen, onSelect, onClear, onOpen }: BulkBarProps) {
  const text = useText()
  const totalMinor = chosen.reduce((sum, { amountMinor }) => sum + BigInt(amountMinor), 0n)
  const mine = items.filter(({ claim }) => claim?.mine)
  const unclaimed = items.filter(({ claim }) => claim === null)
  const chosenMine = chosen.filter(({ claim }) => claim?.mine).length
  const count = chosen.length
  return (
    <div className="BulkBar spread">
      <output>
        {count === 0 ? (
          <span className="muted">{text('paying.waiting', { count: items.length })}</span>
        ) : (
          <strong>
            {text('common.selected', { count })} · <Amount minor={totalMinor} />
          </strong>
        )}
      </output>
      <div className="row">
        <Button look="quiet" onPress={() => onSelect(unclaimed)} isDisabled={unclaimed.length === 0}>
          {text('paying.selectUnclaimed', { count: unclaimed.length })}
        </Button>
        <Button look="quiet" onPress={() => onSelect(mine)} isDisabled={mine.length === 0}>
          {text('paying.selectMine', { count: mine.length })}
        </Button>
        <Button look="quiet" onPress={onClear} isDisabled={count === 0}>
          {text('paying.clearSelection')}
        </Button>
        <Button onPress={() => onOpen('claim')} isDisabled={count === 0}>
          {text('paying.bulk.claim')}
        </Button>
        <Button onPress={() => onOpen('file')} isDisabled={chosenMine === 0}>
          {text('paying.bulk.file')}
        </Button>
        <Button onPress={() => onOpen('complete')} isDisabled={chosenMine === 0}>
          {text('paying.bulk.complete')}
        </Button>
      </div>
    </div>
  )
}
