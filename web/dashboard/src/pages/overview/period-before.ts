import type { Range } from './overview-range'

/** Returns the name of the period before a range: yesterday for today, the day before for another day. */
export function beforeName({ from, to }: Range, now: Date): 'yesterday' | 'day' | 'period' {
  const isOneDay = Date.parse(to) - Date.parse(from) <= 25 * 3_600_000
  if (!isOneDay) return 'period'
  return Date.parse(from) <= now.getTime() && now.getTime() < Date.parse(to) ? 'yesterday' : 'day'
}
