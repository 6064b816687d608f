import { useMemo } from 'react'
import { useIntl } from 'react-intl'
import type { Axes } from './line-chart'
import type { Measure } from './overview-totals'

const dayMs = 86_400_000

/** Returns the axes of a chart. Amounts are abbreviated, such as 1.2K; the table below shows them exactly. */
export function useAxes(measure: Measure, bucketMs: number): Axes & { readonly locale: string } {
  const { locale } = useIntl()
  return useMemo(() => {
    const inUtc = bucketMs >= dayMs
    const zone = inUtc ? { timeZone: 'UTC' } : {}
    const days = new Intl.DateTimeFormat(locale, { ...zone, day: 'numeric', month: 'short' })
    const hours = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
    const starts = new Intl.DateTimeFormat(
      locale,
      inUtc
        ? { timeZone: 'UTC', dateStyle: 'medium' }
        : { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
    )
    const numbers = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })
    return {
      locale,
      inUtc,
      // Minor units are hundredths in every currency.
      formatValue: (value) => numbers.format(measure === 'amount' ? value / 100 : value),
      formatStart: (timeMs) => starts.format(timeMs),
      formatTime: (timeMs, isDay) => (isDay || inUtc ? days : hours).format(timeMs),
    }
  }, [locale, measure, bucketMs])
}
