import { FormattedNumber } from 'react-intl'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import type { Axes } from './chart-axes'
import { type Measure, shownStatuses, type TimeSeries } from './overview-totals'

interface BucketTableProps {
  readonly label: string
  readonly series: TimeSeries
  readonly axes: Axes
  readonly measure: Measure
}

/** Shows the data of the chart as a table, newest first. */
export function BucketTable({ label, series, axes, measure }: BucketTableProps) {
  const text = useText()
  const value = (each: number) =>
    measure === 'amount' ? <Amount minor={each} plain /> : <FormattedNumber value={each} />
  const columns: Column<number>[] = [
    { id: 'from', header: text('common.from'), cell: (index) => axes.formatBucket(series.times[index] ?? 0) },
    ...shownStatuses.map((status) => ({
      id: status,
      header: text(`overview.status.${status}`),
      align: 'end' as const,
      cell: (index: number) => value(series.values[status][index] ?? 0),
    })),
  ]
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={series.times.flatMap((startMs, index) => (startMs <= Date.now() ? index : [])).reverse()}
      rowId={String}
      empty={<Empty title={text('overview.nothingYet')} />}
    />
  )
}
