import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { differenceMinor } from './transfer-amounts'

interface Line {
  readonly label: string
  readonly minor: number
  /** `differs`: a person has to know. `total`: the amount that moved. */
  readonly mark?: 'differs' | 'total'
}

/** Shows the requested amount, the amounts that moved, and the amount that is not settled. */
export function TransferMoney({ detail }: { detail: TransferDetail }) {
  const text = useText()
  const isDeposit = detail.kind === 'deposit'
  const difference = differenceMinor(detail)
  const lines: (Line | false)[] = [
    { label: text('transfer.requested'), minor: detail.amountMinor },
    isDeposit && { label: text('transfer.received'), minor: detail.receivedMinor },
    detail.status === 'Completed' && {
      label: text(isDeposit ? 'transfer.booked' : 'transfer.paid'),
      minor: detail.transactionAmountMinor,
      mark: 'total',
    },
    difference !== 0 && {
      label: text(difference > 0 ? 'transfer.more' : 'transfer.less'),
      minor: Math.abs(difference),
      mark: 'differs',
    },
    isDeposit && detail.receivedMinor > 0 && { label: text('transfer.returned'), minor: detail.returnedMinor },
    detail.resolvedMinor > 0 && { label: text('transfer.resolved'), minor: detail.resolvedMinor },
    detail.unsettledMinor > 0 && {
      label: text('transfer.unsettled'),
      minor: detail.unsettledMinor,
      mark: 'differs',
    },
  ]
  return (
    <Card title={text('transfer.amounts')}>
      <MoneyBar detail={detail} />
      <dl className="TransferMoney">
        {lines
          .filter((line) => line !== false)
          .map(({ label, minor, mark }) => (
            <div key={label} data-mark={mark}>
              <dt>{label}</dt>
              <dd>{minor === 0 ? <span className="faint">{text('common.none')}</span> : <Amount minor={minor} />}</dd>
            </div>
          ))}
      </dl>
      {detail.needsAttention && (
        <p className="notice">
          {text('transfer.attentionHelp')}{' '}
          {text(detail.actions.length > 0 ? 'transfer.attentionDecide' : 'transfer.attentionWait')}
        </p>
      )}
    </Card>
  )
}

/** Draws the amount that moved over the requested one. The figures below say the same. */
function MoneyBar({ detail: { amountMinor, transactionAmountMinor, receivedMinor } }: { detail: TransferDetail }) {
  const movedMinor = transactionAmountMinor || receivedMinor
  const share = Math.min(1, amountMinor === 0 ? 0 : movedMinor / amountMinor)
  return (
    <svg className="TransferMoney-bar" aria-hidden="true">
      <rect className="TransferMoney-asked" x="0.5" y="0.5" width="99.6%" height="7" rx="3.5" />
      {share > 0 && <rect className="TransferMoney-moved" width={`${(share * 100).toFixed(1)}%`} height="8" rx="4" />}
    </svg>
  )
}
