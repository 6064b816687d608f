import { dayOf, startOf } from '../../components/local-days'

/** Whole days in the viewer's time zone. */
export interface Days {
  readonly from: string
  readonly to: string
}

export function isDay(text: string | undefined): text is string {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const start = startOf(text)
  // A nonexistent day starts on another one.
  return start !== undefined && dayOf(new Date(start)) === text
}

/** Returns the period in the address, or the current month so far if the address has no valid period. */
export function daysOf(
  search: { readonly from?: string | undefined; readonly to?: string | undefined },
  nowMs: number,
): Days {
  const { from, to } = search
  if (isDay(from) && isDay(to) && from <= to) return { from, to }
  return thisMonth(nowMs)
}

/** Returns the parameters of the request: the start of the first day, the exclusive end of the last, and the zone of these days. */
export function periodOf({ from, to }: Days) {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return { from: startOf(from)!, to: startOf(to, 1)!, timeZone }
}

export function thisMonth(nowMs: number): Days {
  const today = dayOf(new Date(nowMs))
  return { from: `${today.slice(0, 8)}01`, to: today }
}

export function lastMonth(nowMs: number): Days {
  const to = dayBefore(thisMonth(nowMs).from, 1)
  return { from: `${to.slice(0, 8)}01`, to }
}

export function lastDays(count: number, nowMs: number): Days {
  const to = dayOf(new Date(nowMs))
  return { from: dayBefore(to, count - 1), to }
}

function dayBefore(day: string, days: number): string {
  return dayOf(new Date(startOf(day, -days)!))
}
