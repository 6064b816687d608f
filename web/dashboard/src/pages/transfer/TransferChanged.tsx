import type { StoryItem, TransferDetail } from '../../api/contract'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { StatusBadge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { TransferTimeline } from './TransferTimeline'

interface MeanwhileProps {
  readonly seen: TransferDetail
  readonly now: TransferDetail
  readonly story: readonly StoryItem[]
  /** Missing where it cannot be done any more. */
  readonly onGoOn?: () => void
  readonly onClose: () => void
}

/** What others did since the dialog was opened, and what the transfer is now. Nothing of it is overwritten. */
export function TransferChanged({ seen, now, story, onGoOn, onClose }: MeanwhileProps) {
  const text = useText()
  const since = story.filter(({ source, revision }) => source === 'transfer' && revision > seen.revision)
  return (
    <div className="TransferPage-meanwhile stack" role="alert">
      <p>
        <strong>{text('transfer.meanwhile')}</strong>{' '}
        {text(onGoOn ? 'transfer.meanwhileGoOn' : 'transfer.meanwhileOver')}
      </p>
      <TransferTimeline items={since} />
      <div className="row">
        {text('transfer.now')} <StatusBadge status={now.status} />
        {now.transactionAmountMinor !== 0 && <Amount minor={now.transactionAmountMinor} />}
      </div>
      <div className="row">
        {onGoOn && <Button onPress={onGoOn}>{text('transfer.goOn')}</Button>}
        {!onGoOn && (
          <Button look="primary" onPress={onClose}>
            {text('common.close')}
          </Button>
        )}
      </div>
    </div>
  )
}
