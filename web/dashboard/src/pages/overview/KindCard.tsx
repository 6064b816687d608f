import { lazy, Suspense, useState } from 'react'
import type { Bucket, Kind, OverviewAnswer } from '../../api/contract'
import { useText } from '../../app/texts'
import { Card } from '../../components/Card'
import { BucketTable } from './BucketTable'
import { useAxes } from './chart-axes'
import { KindFacts } from './KindFacts'
import { lineStyles } from './line-styles'
import type { Range } from './overview-range'
import { completionRate, type Measure, shownStatuses, timeSeries, totalsByStatus } from './overview-totals'
import { StatusTotals } from './StatusTotals'

const VolumeChart = lazy(async () => ({ default: (await import('./VolumeChart')).VolumeChart }))

interface KindCardProps {
  readonly kind: Kind
  readonly answer: OverviewAnswer
  readonly buckets: readonly Bucket[]
  readonly range: Range
  readonly measure: Measure
  readonly asTable: boolean
}

export function KindCard({ kind, answer, buckets, range, measure, asTable }: KindCardProps) {
  const text = useText()
  const { bucketMs } = answer
  const axes = useAxes(measure, bucketMs)
  const [pointedIndex, setPointedIndex] = useState<number | null>(null)
  const fromMs = Date.parse(range.from)
  const toMs = Math.min(Date.parse(range.to), Date.now())
  const series = timeSeries(buckets, { kind, measure, bucketMs, fromMs, toMs })
  const totals = totalsByStatus(buckets, kind)
  const lines = shownStatuses.map((status) => ({ id: status, ...lineStyles[status], values: series.values[status] }))
  return (
    <Card title={text(`transfers.${kind}s`)}>
      <KindFacts kind={kind} answer={answer} rate={completionRate(totals)} />
      {asTable ? (
        <BucketTable label={text(`overview.overTime.${kind}`)} series={series} axes={axes} measure={measure} />
      ) : (
        <Suspense fallback={<div className="VolumeChart" />}>
          <VolumeChart
            key={`${axes.locale} ${measure} ${bucketMs}`}
            label={text('overview.chart', { title: text(`overview.overTime.${kind}`) })}
            times={series.times}
            lines={lines}
            axes={axes}
            onPoint={setPointedIndex}
          />
        </Suspense>
      )}
      {axes.inUtc && <p className="muted small">{text('overview.daysInUtc')}</p>}
      <StatusTotals totals={totals} series={series} pointedIndex={asTable ? null : pointedIndex} axes={axes} />
    </Card>
  )
}
