import type { ReactNode } from 'react'
import { useIntl } from 'react-intl'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { ReceiptLink } from '../../components/ReceiptLink'
import { exactTime } from '../../components/Time'
import { Proposal } from './ActionFields'
import { differenceMinor, missingMinor } from './transfer-amounts'

interface Line {
  readonly key?: string
  readonly label: ReactNode
  readonly minor: number
  /** `differs`: a person has to know. `total`: the amount that moved. `part`: a part of the amount above. */
  readonly mark?: 'differs' | 'total' | 'part'
}

/** Shows the requested amount, the amounts that moved, and the amount that is not settled. */
export function TransferMoney({ detail }: { detail: TransferDetail }) {
  const text = useText()
  const isDeposit = detail.kind === 'deposit'
  const missing = missingMinor(detail)
  const difference = missing === undefined ? differenceMinor(detail) : 0
  const intl = useIntl()
  const lines: (Line | false)[] = [
    { label: text('transfer.requested'), minor: detail.amountMinor },
    isDeposit && { label: text('transfer.received'), minor: detail.receivedMinor },
    ...detail.payments.map(({ amountMinor, reference, receiptUrl, at }): Line => {
      const label = (
        <>
          <bdi>{text('transfer.payment', { reference, at: exactTime(intl, at) })}</bdi>{' '}
          {receiptUrl !== null && <ReceiptLink url={receiptUrl} />}
        </>
      )
      return { key: reference, label, minor: amountMinor, mark: 'part' }
    }),
    missing !== undefined && {
      label: text('transfer.missing', { until: exactTime(intl, detail.expiresAt ?? '') }),
      minor: missing,
      mark: 'differs',
    },
    ...detail.corrections.map(({ fromMinor }, index): Line => {
      return { key: `correction ${index}`, label: text('transfer.beforeCorrection'), minor: fromMinor, mark: 'part' }
    }),
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
    detail.unsettledMinor > 0 &&
      missing === undefined && {
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
          .map(({ label, key = String(label), minor, mark }) => (
            <div key={key} data-mark={mark}>
              <dt>{label}</dt>
              <dd>{minor === 0 ? <span className="faint">{text('common.none')}</span> : <Amount minor={minor} />}</dd>
            </div>
          ))}
      </dl>
      <Proposal seen={detail} />
      {detail.proposedCorrection && <p className="muted">{text('transfer.proposalHelp')}</p>}
      {detail.needsAttention && !detail.proposedCorrection && (
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
