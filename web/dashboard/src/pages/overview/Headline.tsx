import { ArrowDown, ArrowUp } from 'lucide-react'
import { useIntl } from 'react-intl'
import type { Kind, OverviewResponse } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { useAmounts } from '../../components/use-amounts'
import type { Range } from './overview-range'
import { type TotalsByStatus, totalsByStatus } from './overview-totals'
import { beforeName } from './period-before'

interface HeadlineProps {
  readonly kind: Kind
  readonly totals: TotalsByStatus
  readonly compared: OverviewResponse['compared']
  readonly range: Range
}

/** States the amount that moved, next to the requested one, and the difference to the period before. */
export function Headline({ kind, totals, compared, range }: HeadlineProps) {
  const text = useText()
  const { format } = useAmounts()
  return (
    <div className="OverviewPage-headline">
      <p className="OverviewPage-moved">
        <strong>
          <Amount minor={totals.Completed.transactionAmountMinor} />
        </strong>
        <span className="muted">{text('overview.completedOf', { amount: format(totals.Pending.amountMinor) })}</span>
      </p>
      <Change kind={kind} compared={compared} range={range} />
    </div>
  )
}

function Change({ kind, compared, range }: Omit<HeadlineProps, 'totals'>) {
  const text = useText()
  const intl = useIntl()
  const moved = (buckets: OverviewResponse['compared']['now']) =>
    totalsByStatus(buckets, kind).Completed.transactionAmountMinor
  const [now, earlier] = [moved(compared.now), moved(compared.earlier)]
  const until = intl.formatTime(compared.until, { timeStyle: 'short' })
  const than = text(`overview.than.${beforeName(range, new Date())}`, { until })
  // A share needs no more digits than a number has. Corrections can make the amount negative, which has no share.
  const change = earlier <= 0n ? null : Number(now - earlier) / Number(earlier)
  if (change === null) {
    return <p className="OverviewPage-change">{now === 0n ? '' : text('overview.nothingBefore')}</p>
  }
  const share = intl.formatNumber(Math.abs(change), { style: 'percent', maximumFractionDigits: 1 })
  const Icon = change < 0 ? ArrowDown : ArrowUp
  return (
    <p className="OverviewPage-change">
      <Icon className="icon-12" />
      <span>
        <strong>{text(change < 0 ? 'overview.less' : 'overview.more', { share })}</strong> {than}
      </span>
    </p>
  )
}
