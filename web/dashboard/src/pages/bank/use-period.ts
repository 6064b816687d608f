import { useIntl } from 'react-intl'

/** Returns a function that writes a period of days such as 2026-11-21, or `undefined` if they are unknown. */
export function usePeriod(): (from: string | null, to: string | null) => string | undefined {
  const intl = useIntl()
  return (from, to) =>
    from === null || to === null
      ? undefined
      : intl.formatDateTimeRange(Date.parse(from), Date.parse(to), { timeZone: 'UTC', dateStyle: 'medium' })
}
