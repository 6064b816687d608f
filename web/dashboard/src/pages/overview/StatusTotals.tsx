import { FormattedNumber } from 'react-intl'
import type { Status } from '../../api/contract'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import type { Axes } from './line-chart'
import { LineSample } from './line-styles'
import { measured, shownStatuses, type Tally, type TimeSeries } from './overview-totals'

interface TalliesProps {
  readonly tallies: { readonly [status in Status]: Tally }
  readonly series: TimeSeries
  /** The bucket whose values are shown beside the sums. */
  readonly pointed: number | null
  readonly axes: Axes
}

/** What reached each status in the range: the chart's legend as well. */
export function StatusTotals({ tallies, series, pointed, axes }: TalliesProps) {
  const text = useText()
  const pointedMs = pointed === null ? undefined : series.times[pointed]
  return (
    <table className="OverviewPage-tallies number">
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
            {pointedMs !== undefined && <td>{axes.formatValue(series.values[status][pointed ?? 0] ?? 0)}</td>}
            <td>
              <FormattedNumber value={tallies[status].count} />
            </td>
            <td>
              <Amount minor={measured({ ...tallies[status], status }, 'amount')} plain />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
