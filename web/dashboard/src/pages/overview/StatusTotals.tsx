import { FormattedNumber } from 'react-intl'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import type { Axes } from './line-chart'
import { LineSample } from './line-styles'
import { measured, shownStatuses, type TimeSeries, type TotalsByStatus } from './overview-totals'

interface StatusTotalsProps {
  readonly totals: TotalsByStatus
  readonly series: TimeSeries
  /** The index of the bucket whose values are shown next to the totals. */
  readonly pointedIndex: number | null
  readonly axes: Axes
}

/** Shows how many transfers reached each status in the range. Also serves as the legend of the chart. */
export function StatusTotals({ totals, series, pointedIndex, axes }: StatusTotalsProps) {
  const text = useText()
  const pointedMs = pointedIndex === null ? undefined : series.times[pointedIndex]
  return (
    <table className="OverviewPage-totals number">
      <thead>
        <tr>
          <th scope="col">{text('overview.reached')}</th>
          {pointedMs !== undefined && <th scope="col">{axes.formatStart(pointedMs)}</th>}
          <th scope="col">{text('overview.count')}</th>
          <th scope="col">{text('overview.amount')}</th>
        </tr>
      </thead>
      <tbody>
        {shownStatuses.map((status) => (
          <tr key={status}>
            <th scope="row">
              <LineSample status={status} />
              {text(`overview.status.${status}`)}
            </th>
            {pointedMs !== undefined && <td>{axes.formatValue(series.values[status][pointedIndex ?? 0] ?? 0)}</td>}
            <td>
              <FormattedNumber value={totals[status].count} />
            </td>
            <td>
              <Amount minor={measured({ ...totals[status], status }, 'amount')} plain />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
