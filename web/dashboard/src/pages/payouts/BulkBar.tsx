import { Check, FileDown, HandCoins, X } from 'lucide-react'
import type { TransferRow } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Button } from '../../components/Button'
import { keyOf } from './payout-keys'

interface BulkBarProps {
  readonly chosen: readonly TransferRow[]
  readonly onClear: () => void
  readonly onOpen: (opened: 'claim' | 'complete' | 'file') => void
}

/** Shows the number and the sum of the selection, and what can be done with it. */
export function BulkBar({ chosen, onClear, onOpen }: BulkBarProps) {
  const text = useText()
  const count = chosen.length
  if (count === 0) return null
  const totalMinor = chosen.reduce((sum, { amountMinor }) => sum + BigInt(amountMinor), 0n)
  const mine = chosen.filter(({ claim }) => claim?.mine).length
  return (
    <section className="BulkBar" aria-label={text('payouts.selection')}>
      <output>
        <strong>{text('common.selected', { count })}</strong>
        {mine === count && `, ${text('payouts.allYours')}`} <span className="faint">·</span>{' '}
        <strong className="BulkBar-sum">
          <Amount minor={totalMinor} />
        </strong>
      </output>
      <div className="BulkBar-buttons">
        {mine < count && (
          <Button onPress={() => onOpen('claim')} {...(mine === 0 && { look: 'primary' })}>
            <HandCoins />
            {text('payouts.bulk.claim')}
          </Button>
        )}
        {mine > 0 && (
          <>
            <Button onPress={() => onOpen('file')}>
              <FileDown />
              {text('payouts.bulk.file')} <kbd aria-hidden>{keyOf('file')}</kbd>
            </Button>
            <Button look="primary" onPress={() => onOpen('complete')}>
              <Check />
              {text('payouts.bulk.complete')}
            </Button>
          </>
        )}
        <Button look="quiet" icon onPress={onClear} aria-label={text('payouts.clearSelection')}>
          <X />
        </Button>
      </div>
    </section>
  )
}
