import { FormattedNumber } from 'react-intl'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { measured, shownStatuses, type TotalsByStatus } from './overview-totals'

/** Shows how many transfers reached each status in the range. */
export function StatusTotals({ totals }: { readonly totals: TotalsByStatus }) {
  const text = useText()
  return (
    <table className="OverviewPage-totals number">
      <thead>
        <tr>
          <th scope="col">{text('overview.reached')}</th>
          <th scope="col">{text('overview.count')}</th>
          <th scope="col">{text('overview.amount')}</th>
        </tr>
      </thead>
      <tbody>
        {shownStatuses.map((status) => (
          <tr key={status}>
            <th scope="row">{text(`overview.status.${status}`)}</th>
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
