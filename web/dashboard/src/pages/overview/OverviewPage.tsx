import './OverviewPage.css'
import { getRouteApi } from '@tanstack/react-router'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { Segments } from '../../components/Segments'
import { KindCard } from './KindCard'
import { OldestPending } from './OldestPending'
import { type Range, rangeOf } from './overview-range'
import type { Measure } from './overview-totals'
import { RangeChoice } from './RangeChoice'
import { ToDo } from './ToDo'
import { useOverview } from './use-overview'

const route = getRouteApi('/pages/')

export function OverviewPage() {
  const text = useText()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const merchantId = useMerchant()
  const range = rangeOf(search, new Date())
  const measure: Measure = search.measure === 'amount' ? 'amount' : 'count'
  return (
    <Page
      title={text('overview.title')}
      actions={
        <>
          <Segments
            label={text('overview.measure')}
            options={[
              { value: 'count', label: text('overview.count') },
              { value: 'amount', label: text('overview.amount') },
            ]}
            value={measure}
            onChange={(chosen) =>
              void navigate({
                search: (previous) => ({ ...previous, measure: chosen }),
                replace: true,
                resetScroll: false,
              })
            }
          />
          <RangeChoice
            range={range}
            onChange={({ from, to }) => void navigate({ search: (previous) => ({ ...previous, from, to }) })}
          />
        </>
      }
    >
      <Figures
        key={`${range.from} ${range.to} ${merchantId}`}
        range={range}
        merchantId={merchantId}
        measure={measure}
        asTable={search.view === 'table'}
      />
    </Page>
  )
}

interface FiguresProps {
  readonly range: Range
  readonly merchantId: string | undefined
  readonly measure: Measure
  readonly asTable: boolean
}

function Figures({ range, merchantId, measure, asTable }: FiguresProps) {
  const { query, bucketsOf } = useOverview(range, merchantId)
  return (
    <Loaded query={query}>
      {(response) => (
        <>
          <ToDo response={response} />
          <div className="OverviewPage-cards">
            {(['deposit', 'withdrawal'] as const).map((kind) => (
              <KindCard
                key={kind}
                kind={kind}
                response={response}
                buckets={bucketsOf(response)}
                range={range}
                measure={measure}
                asTable={asTable}
              />
            ))}
            <div className="OverviewPage-oldest">
              <OldestPending rows={response.oldestPending} />
            </div>
          </div>
        </>
      )}
    </Loaded>
  )
}
