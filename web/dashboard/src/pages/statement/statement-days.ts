const dayMs = 86_400_000

export interface Days {
  readonly from: string
  readonly to: string
}

/** Returns the UTC day of a time. */
export function utcDayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

export function isDay(text: string | undefined): text is string {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const ms = Date.parse(text)
  // Date.parse reads February 30 as March 2.
  return !Number.isNaN(ms) && utcDayOf(ms) === text
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

/** Returns the start of the first day, and the exclusive end: the start of the day after the last. */
export function timesOf({ from, to }: Days) {
  return { from: `${from}T00:00:00.000Z`, to: new Date(Date.parse(to) + dayMs).toISOString() }
}

export function thisMonth(nowMs: number): Days {
  const today = utcDayOf(nowMs)
  return { from: `${today.slice(0, 8)}01`, to: today }
}

export function lastMonth(nowMs: number): Days {
  const to = utcDayOf(Date.parse(thisMonth(nowMs).from) - dayMs)
  return { from: `${to.slice(0, 8)}01`, to }
}

export function lastDays(count: number, nowMs: number): Days {
  return { from: utcDayOf(nowMs - (count - 1) * dayMs), to: utcDayOf(nowMs) }
}
