import './OverviewPage.css'
import { getRouteApi } from '@tanstack/react-router'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { DateRange } from '../../components/DateRange'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { KindCard } from './KindCard'
import { OldestPending } from './OldestPending'
import { type Range, rangeOf } from './overview-range'
import type { Measure } from './overview-totals'
import { ShowAs } from './ShowAs'
import { ToDo } from './ToDo'
import { useOverview } from './use-overview'

const route = getRouteApi('/pages/')

export function OverviewPage() {
  const text = useText()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const merchantId = useMerchant()
  const range = rangeOf(search, new Date())
  return (
    <Page
      title={text('overview.title')}
      actions={
        <DateRange
          from={range.from}
          to={range.to}
          onChange={({ from, to }) => void navigate({ search: (previous) => ({ ...previous, from, to }) })}
        />
      }
    >
      <Figures key={`${range.from} ${range.to} ${merchantId}`} range={range} merchantId={merchantId} />
    </Page>
  )
}

function Figures({ range, merchantId }: { range: Range; merchantId: string | undefined }) {
  const { measure, view } = route.useSearch()
  const { query, bucketsOf } = useOverview(range, merchantId)
  const shown: Measure = measure === 'amount' ? 'amount' : 'count'
  return (
    <div className="stack">
      <div className="spread">
        <ShowAs measure={shown} asTable={view === 'table'} />
      </div>
      <Loaded query={query}>
        {(answer) => (
          <>
            <ToDo answer={answer} />
            <div className="OverviewPage-kinds">
              {(['deposit', 'withdrawal'] as const).map((kind) => (
                <KindCard
                  key={kind}
                  kind={kind}
                  answer={answer}
                  buckets={bucketsOf(answer)}
                  range={range}
                  measure={shown}
                  asTable={view === 'table'}
                />
              ))}
            </div>
            <OldestPending rows={answer.oldestPending} />
          </>
        )}
      </Loaded>
    </div>
  )
}
