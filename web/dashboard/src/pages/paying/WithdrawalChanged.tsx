import type { ApiError } from '../../api/api-error'
import type { TransferDetail } from '../../api/contract'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { StatusBadge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Facts } from '../../components/Facts'
import { Problem } from '../../components/Problem'
import { Time } from '../../components/Time'
import { ClaimChip } from './ClaimChip'

interface MeanwhileProps {
  readonly now: TransferDetail
  /** In whose sentence the server tells who did it. */
  readonly error: ApiError | null
  readonly onClose: () => void
}

/** Instead of a form whose withdrawal another has changed: what it is now, and nothing to overwrite it with. */
export function WithdrawalChanged({ now, error, onClose }: MeanwhileProps) {
  const text = useText()
  const isBooked = now.transactionAmountMinor > 0
  return (
    <div className="stack">
      {error ? <Problem error={error} /> : <p role="alert">{text('paying.meanwhile')}</p>}
      <Facts
        items={[
          { label: text('paying.status'), value: <StatusBadge status={now.status} /> },
          { label: text('paying.claim'), value: now.claim ? <ClaimChip claim={now.claim} /> : undefined },
          { label: text('paying.paid'), value: isBooked ? <Amount minor={now.transactionAmountMinor} /> : undefined },
          { label: text('paying.message'), value: now.message === null ? undefined : <bdi>{now.message}</bdi> },
          { label: text('paying.changedAt'), value: <Time at={now.updatedAt} /> },
        ]}
      />
      <div className="row">
        <Button look="primary" onPress={onClose}>
          {text('paying.lookAgain')}
        </Button>
      </div>
    </div>
  )
}
