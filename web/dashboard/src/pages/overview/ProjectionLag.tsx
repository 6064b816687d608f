import type { OverviewAnswer } from '../../api/contract'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Card } from '../../components/Card'
import { Duration } from '../../components/Duration'

type Projection = OverviewAnswer['projections'][number]

/** Shows the lag of the projections. The list is empty for users without access to operations. */
export function ProjectionLag({ items }: { items: readonly Projection[] }) {
  const text = useText()
  if (items.length === 0) return null
  return (
    <Card title={text('operations.projections')}>
      <table className="OverviewPage-totals">
        <thead>
          <tr>
            <th scope="col">{text('fields.projection')}</th>
            <th scope="col">{text('fields.state')}</th>
            <th scope="col">{text('overview.lag')}</th>
          </tr>
        </thead>
        <tbody>
          {items.map(({ name, behind, lagMs }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <Badge tone={behind ? 'bad' : 'good'}>
                  {text(behind ? 'operations.state.behind' : 'operations.state.current')}
                </Badge>
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
