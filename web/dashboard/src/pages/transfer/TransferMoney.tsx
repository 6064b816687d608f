import type { TransferDetail } from '../../api/contract'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { differenceMinor } from './transfer-amounts'

interface Line {
  readonly label: string
  readonly minor: number
  readonly differs?: boolean
  /** The amount is not settled. */
  readonly unsettled?: boolean
}

/** Shows the requested amount, the amounts that moved, and the amount that is not settled. */
export function TransferMoney({ detail }: { detail: TransferDetail }) {
  const text = useText()
  const isDeposit = detail.kind === 'deposit'
  const difference = differenceMinor(detail)
  const differs = difference !== 0
  const lines: (Line | false)[] = [
    { label: text('transfer.requested'), minor: detail.amountMinor },
    isDeposit && {
      label: text('transfer.received'),
      minor: detail.receivedMinor,
      differs: differs && detail.status !== 'Completed',
    },
    detail.status === 'Completed' && {
      label: text(isDeposit ? 'transfer.booked' : 'transfer.paid'),
      minor: detail.transactionAmountMinor,
      differs,
    },
    differs && {
      label: text(difference > 0 ? 'transfer.more' : 'transfer.less'),
      minor: Math.abs(difference),
      differs,
    },
    detail.returnedMinor > 0 && { label: text('transfer.returned'), minor: detail.returnedMinor },
    detail.resolvedMinor > 0 && { label: text('transfer.resolved'), minor: detail.resolvedMinor },
    detail.unsettledMinor > 0 && { label: text('transfer.unsettled'), minor: detail.unsettledMinor, unsettled: true },
  ]
  return (
    <Card title={text('transfer.amounts')}>
      <table className="TransferPage-money">
        <tbody>
          {lines
            .filter((line) => line !== false)
            .map(({ label, minor, differs: isMarked, unsettled }) => (
              <tr key={label} data-differs={isMarked || undefined} data-unsettled={unsettled}>
                <th scope="row">{label}</th>
                <td className="number">
                  <Amount minor={minor} {...(isMarked && { tone: 'differs' })} />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
      {detail.needsAttention && <p className="notice">{text('transfer.attentionHelp')}</p>}
    </Card>
  )
}
