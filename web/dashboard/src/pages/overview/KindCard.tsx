import { getRouteApi } from '@tanstack/react-router'
import { ArrowDownToLine, ArrowUpFromLine, ChartColumn, Table2 } from 'lucide-react'
import { useIntl } from 'react-intl'
import type { Bucket, Kind, OverviewResponse } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Empty } from '../../components/Empty'
import { useAmounts } from '../../components/use-amounts'
import { BarChart } from './BarChart'
import { BucketTable } from './BucketTable'
import { useAxes } from './chart-axes'
import { barsOf } from './chart-bars'
import { Headline } from './Headline'
import { KindFacts } from './KindFacts'
import type { Range } from './overview-range'
import { completionRate, type Measure, timeSeries, totalsByStatus } from './overview-totals'
import { beforeName } from './period-before'
import { StatusTotals } from './StatusTotals'

const route = getRouteApi('/pages/')

interface KindCardProps {
  readonly kind: Kind
  readonly response: OverviewResponse
  readonly buckets: readonly Bucket[]
  readonly range: Range
  readonly measure: Measure
  readonly asTable: boolean
}

/** Below this number, a sentence says more than a chart. */
const fewestBars = 10

export function KindCard({ kind, response, buckets, range, measure, asTable }: KindCardProps) {
  const text = useText()
  const navigate = route.useNavigate()
  const { bucketMs, compared } = response
  const axes = useAxes(measure, bucketMs)
  const options = { kind, measure, bucketMs, fromMs: Date.parse(range.from), toMs: Date.parse(range.to) }
  const series = timeSeries(buckets, options)
  const totals = totalsByStatus(buckets, kind)
  const before = beforeName(range, new Date())
  const Icon = kind === 'deposit' ? ArrowDownToLine : ArrowUpFromLine
  const show = (view: string | undefined) =>
    void navigate({ search: (previous) => ({ ...previous, view }), replace: true, resetScroll: false })
  return (
    <Card
      title={text(`transfers.${kind}s`)}
      icon={<Icon />}
      actions={
        <Button look="quiet" small onPress={() => show(asTable ? undefined : 'table')}>
          {asTable ? <ChartColumn /> : <Table2 />}
          {text(asTable ? 'overview.asChart' : 'overview.asTable')}
        </Button>
      }
    >
      <Headline kind={kind} totals={totals} compared={compared} range={range} />
      <KindFacts kind={kind} response={response} rate={completionRate(totals)} />
      {asTable ? (
        <>
          <StatusTotals totals={totals} />
          <BucketTable label={text(`overview.overTime.${kind}`)} series={series} axes={axes} measure={measure} />
        </>
      ) : totals.Pending.count + totals.Completed.count < fewestBars ? (
        <FewTransfers kind={kind} response={response} range={range} buckets={buckets} />
      ) : (
        <BarChart
          label={text('overview.chart', { title: text(`overview.overTime.${kind}`) })}
          unit={text(axes.inUtc ? `overview.unit.${measure}.day` : `overview.unit.${measure}.hour`)}
          bars={barsOf(series, compared, options, Date.now())}
          formatAxis={axes.formatAxis}
          formatValue={axes.formatValue}
          formatTick={axes.formatTick}
          formatBucket={axes.formatBucket}
          beforeLabel={text(`overview.before.${before}`)}
        />
      )}
    </Card>
  )
}

/** States in words what a chart would not show. */
function FewTransfers({
  kind,
  response,
  range,
  buckets,
}: Pick<KindCardProps, 'kind' | 'response' | 'range' | 'buckets'>) {
  const text = useText()
  const intl = useIntl()
  const { format } = useAmounts()
  const { count, amountMinor } = totalsByStatus(buckets, kind).Pending
  const earlier = totalsByStatus(response.compared.earlier, kind).Pending.count
  const until = intl.formatTime(response.compared.until, { timeStyle: 'short' })
  const before = beforeName(range, new Date())
  return (
    <Empty
      title={
        count === 0
          ? text(`overview.none.${kind}`)
          : text(`overview.few.${kind}`, { count, amount: format(amountMinor) })
      }
    >
      <p>{text(before === 'yesterday' ? 'overview.byThisHour' : 'overview.periodBefore', { count: earlier, until })}</p>
    </Empty>
  )
}
