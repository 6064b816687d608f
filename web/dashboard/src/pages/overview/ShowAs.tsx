import { getRouteApi } from '@tanstack/react-router'
import { useText } from '../../app/texts'
import { Segments } from '../../components/Segments'
import type { Measure } from './overview-totals'

const route = getRouteApi('/pages/')

/** Chooses between number and amount, and between chart and table. The choice is kept in the address. */
export function ShowAs({ measure, asTable }: { measure: Measure; asTable: boolean }) {
  const text = useText()
  const navigate = route.useNavigate()
  const show = (changes: { measure?: string; view?: string }) =>
    void navigate({ search: (previous) => ({ ...previous, ...changes }), replace: true, resetScroll: false })
  return (
    <div className="row screen-only">
      <Segments
        label={text('overview.measure')}
        options={[
          { value: 'count', label: text('overview.count') },
          { value: 'amount', label: text('overview.amount') },
        ]}
        value={measure}
        onChange={(chosen) => show({ measure: chosen })}
      />
      <Segments
        label={text('overview.view')}
        options={[
          { value: 'chart', label: text('overview.asChart') },
          { value: 'table', label: text('overview.asTable') },
        ]}
        value={asTable ? 'table' : 'chart'}
        onChange={(chosen) => show({ view: chosen })}
      />
    </div>
  )
}
