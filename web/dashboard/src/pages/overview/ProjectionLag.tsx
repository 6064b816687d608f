import type { OverviewAnswer } from '../../api/contract'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Card } from '../../components/Card'
import { Duration } from '../../components/Duration'

type Projection = OverviewAnswer['projections'][number]

/** How far the read models are behind the log; empty for those who may not see operations. */
export function ProjectionLag({ items }: { items: readonly Projection[] }) {
  const text = useText()
  if (items.length === 0) return null
  return (
    <Card title={text('overview.projections')}>
      <table className="OverviewPage-tallies">
        <thead>
          <tr>
            <th scope="col">{text('overview.projection')}</th>
            <th scope="col">{text('overview.projectionState')}</th>
            <th scope="col">{text('overview.lag')}</th>
          </tr>
        </thead>
        <tbody>
          {items.map(({ name, behind, lagMs }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <Badge tone={behind ? 'bad' : 'good'}>{text(behind ? 'overview.behind' : 'overview.upToDate')}</Badge>
              </td>
              <td className="number">
                <Duration ms={lagMs} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}
