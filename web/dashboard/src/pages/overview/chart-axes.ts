import { useMemo } from 'react'
import { useIntl } from 'react-intl'
import { useAmounts } from '../../components/use-amounts'
import type { Measure } from './overview-totals'

const dayMs = 86_400_000

export interface Axes {
  /** Formats a value of the axis. Amounts are abbreviated, such as ₺1.2K. */
  formatAxis(value: number): string
  /** Formats a value exactly. */
  formatValue(value: number): string
  /** Formats the start of a bucket for the axis. */
  formatTick(startMs: number): string
  /** Formats a bucket: a day, or the start and the end of an hour. */
  formatBucket(startMs: number): string
  /** Buckets are days in UTC. */
  readonly inUtc: boolean
}

export function useAxes(measure: Measure, bucketMs: number): Axes {
  const { locale } = useIntl()
  const { code, format } = useAmounts()
  return useMemo(() => {
    const inUtc = bucketMs >= dayMs
    const days = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', day: 'numeric', month: 'short' })
    const wholeDays = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', dateStyle: 'medium' })
    const hours = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
    const short = { notation: 'compact', maximumFractionDigits: 1 } as const
    const numbers = new Intl.NumberFormat(locale, short)
    const counts = new Intl.NumberFormat(locale)
    const money = new Intl.NumberFormat(locale, {
      ...short,
      style: 'currency',
      currency: code,
      currencyDisplay: 'narrowSymbol',
    })
    const isAmount = measure === 'amount'
    return {
      inUtc,
      // Minor units are hundredths in every currency.
      formatAxis: (value) => (isAmount ? money.format(value / 100) : numbers.format(value)),
      formatValue: (value) => (isAmount ? format(value) : counts.format(value)),
      formatTick: (startMs) => (inUtc ? days : hours).format(startMs),
      formatBucket: (startMs) =>
        inUtc ? wholeDays.format(startMs) : [startMs, startMs + bucketMs].map((at) => hours.format(at)).join(' – '),
    }
  }, [locale, measure, bucketMs, code, format])
}
