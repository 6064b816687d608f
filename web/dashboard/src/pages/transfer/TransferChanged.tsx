import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { StatusBadge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Loaded } from '../../components/Loaded'
import { TransferTimeline } from './TransferTimeline'
import { useTransferHistory } from './use-transfer'
import './TransferChanged.css'

interface TransferChangedProps {
  readonly seen: TransferDetail
  readonly now: TransferDetail
  /** Omitted if the action is no longer possible. */
  readonly onAccept?: () => void
  readonly onClose: () => void
}

/** Shows what other users did since the dialog was opened, and the current state of the transfer. */
export function TransferChanged({ seen, now, onAccept, onClose }: TransferChangedProps) {
  const text = useText()
  const history = useTransferHistory(now.trackingId)
  return (
    <div className="TransferChanged stack" role="alert">
      <p>
        <strong>{text('transfer.changed')}</strong> {text(onAccept ? 'transfer.changedHelp' : 'transfer.changedEnded')}
      </p>
      <Loaded query={history}>
        {({ items }) => (
          <TransferTimeline
            items={items.filter(({ source, revision }) => source === 'transfer' && revision > seen.revision)}
          />
        )}
      </Loaded>
      <div className="row">
        {text('transfer.currentState')} <StatusBadge status={now.status} />
        {now.transactionAmountMinor !== 0 && <Amount minor={now.transactionAmountMinor} />}
      </div>
      <div className="row">
        {onAccept ? (
          <Button onPress={onAccept}>{text('transfer.continue')}</Button>
        ) : (
          <Button look="primary" onPress={onClose}>
            {text('common.close')}
          </Button>
        )}
      </div>
    </div>
  )
}
