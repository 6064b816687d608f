import type { ReactNode } from 'react'
import { useIntl } from 'react-intl'
import type { TransferAction, TransferDetail } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { EventValue } from '../../components/EventValue'
import { ReceiptLink } from '../../components/ReceiptLink'
import { exactTime, Time } from '../../components/Time'
import { useAmounts } from '../../components/use-amounts'
import { differenceMinor, missingMinor } from './transfer-amounts'

interface Line {
  /** Defaults to the label. */
  readonly key?: string
  readonly label: string
  readonly minor: number
  /** `differs`: a person has to know. `total`: the amount that moved. `part`: explains the amount above. */
  readonly mark?: 'differs' | 'total' | 'part'
  /** Shown after the label. */
  readonly more?: ReactNode
}

/** Returns whether an action decides about money that needs attention. The others record more of it. */
const isDecision = (action: TransferAction) => action !== 'correct' && action !== 'payout-returned'

/** Shows the requested amount, the amounts that moved, and the amount that is not settled. */
export function TransferMoney({ detail }: { detail: TransferDetail }) {
  const text = useText()
  const intl = useIntl()
  const isDeposit = detail.kind === 'deposit'
  const { waitsForRest: isWaiting } = detail
  const isProposed = detail.proposedCorrection !== null || detail.refunds.some(({ state }) => state === 'proposed')
  const difference = isWaiting ? 0 : differenceMinor(detail)
  const parts = detail.payments.map(({ amountMinor: minor, reference, receiptUrl, at }): Line => {
    const more = (
      <>
        <Time at={at} exact /> {receiptUrl !== null && <ReceiptLink url={receiptUrl} />}
      </>
    )
    return { key: `payment ${reference}`, label: reference, minor, mark: 'part', more }
  })
  const returns = detail.payoutReturns.map(({ amountMinor: minor, reasonCode, reference, receiptUrl, at }): Line => {
    const more = (
      <>
        <EventValue name="reasonCode" value={reasonCode} />, <Time at={at} exact />{' '}
        {receiptUrl !== null && <ReceiptLink url={receiptUrl} />}
      </>
    )
    return { key: `return ${reference}`, label: reference, minor, mark: 'part', more }
  })
  const lines: (Line | false)[] = [
    { label: text('transfer.requested'), minor: detail.amountMinor },
    isDeposit && { label: text('transfer.received'), minor: detail.receivedMinor },
    ...parts,
    isWaiting && { label: text('transfer.missing'), minor: missingMinor(detail), mark: 'total' },
    detail.status === 'Completed' && {
      label: text(isDeposit ? 'transfer.booked' : 'transfer.paid'),
      minor: detail.transactionAmountMinor,
      mark: 'total',
    },
    ...detail.corrections.toReversed().map(({ fromMinor: minor }, index): Line => {
      return { key: `correction ${index}`, label: text('transfer.beforeCorrection'), minor, mark: 'part' }
    }),
    difference !== 0 && {
      label: text(difference > 0 ? 'transfer.more' : 'transfer.less'),
      minor: Math.abs(difference),
      mark: 'differs',
    },
    isDeposit && detail.receivedMinor > 0 && { label: text('transfer.returned'), minor: detail.returnedMinor },
    returns.length > 0 && { label: text('transfer.cameBack'), minor: detail.returnedMinor },
    ...returns,
    returns.length > 0 && { label: text('transfer.kept'), minor: detail.keptMinor },
    detail.refundedMinor > 0 && { label: text('transfer.refunded'), minor: detail.refundedMinor, mark: 'part' },
    detail.resolvedMinor > 0 && { label: text('transfer.resolved'), minor: detail.resolvedMinor },
    detail.unsettledMinor > 0 &&
      !isWaiting && {
        label: text('transfer.unsettled'),
        minor: detail.unsettledMinor,
        ...(detail.undecidedMinor > 0 && { mark: 'differs' }),
      },
  ]
  return (
    <Card title={text('transfer.amounts')}>
      <MoneyBar detail={detail} />
      <dl className="TransferMoney">
        {lines
          .filter((line) => line !== false)
          .map(({ label, key = label, minor, mark, more }) => (
            <div key={key} data-mark={mark}>
              <dt>
                <bdi>{label}</bdi>
                {more && <span className="TransferMoney-more">{more}</span>}
              </dt>
              <dd>{minor === 0 ? <span className="faint">{text('common.none')}</span> : <Amount minor={minor} />}</dd>
            </div>
          ))}
      </dl>
      {isWaiting && detail.expiresAt !== null && (
        <p className="muted small">{text('transfer.openUntil', { until: exactTime(intl, detail.expiresAt) })}</p>
      )}
      {detail.proposedCorrection && <Proposal proposed={detail.proposedCorrection} actions={detail.actions} />}
      {detail.needsAttention && (!(isProposed || detail.rejection) || detail.undecidedMinor > 0) && (
        <p className="notice">
          {text(`transfer.attentionHelp.${detail.kind}`)}{' '}
          {text(detail.actions.some(isDecision) ? 'transfer.attentionDecide' : 'transfer.attentionWait')}
        </p>
      )}
    </Card>
  )
}

interface ProposalProps extends Pick<TransferDetail, 'actions'> {
  readonly proposed: NonNullable<TransferDetail['proposedCorrection']>
}

function Proposal({ proposed: { name, at, amountMinor, reason }, actions }: ProposalProps) {
  const text = useText()
  const intl = useIntl()
  const actorName = useActorName()
  const { format } = useAmounts()
  const values = { name: actorName(name), at: exactTime(intl, at), amount: format(amountMinor) }
  return (
    <div className="notice">
      <p>{text('transfer.proposal', values)}</p>
      <p className="Story-quote">
        <bdi>{reason}</bdi>
      </p>
      <p>{text(actions.includes('approve-correction') ? 'transfer.proposalDecide' : 'transfer.proposalWait')}</p>
    </div>
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
