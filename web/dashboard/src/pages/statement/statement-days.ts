const dayMs = 86_400_000

export interface Days {
  readonly from: string
  readonly to: string
}

/** The day of a moment, in UTC as statements count. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

export function isDay(text: string | undefined): text is string {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const ms = Date.parse(text)
  // The 30th of February would be the 2nd of March.
  return !Number.isNaN(ms) && dayOf(ms) === text
}

/** What the address says; this month so far where it says nothing that can be read. */
export function daysOf(
  search: { readonly from?: string | undefined; readonly to?: string | undefined },
  nowMs: number,
): Days {
  const { from, to } = search
  if (isDay(from) && isDay(to) && from <= to) return { from, to }
  return thisMonth(nowMs)
}

/** From the first moment of the first day to that of the day after the last. */
export function momentsOf({ from, to }: Days) {
  return { from: `${from}T00:00:00.000Z`, to: new Date(Date.parse(to) + dayMs).toISOString() }
}

export function thisMonth(nowMs: number): Days {
  const today = dayOf(nowMs)
  return { from: `${today.slice(0, 8)}01`, to: today }
}

export function lastMonth(nowMs: number): Days {
  const to = dayOf(Date.parse(thisMonth(nowMs).from) - dayMs)
  return { from: `${to.slice(0, 8)}01`, to }
}

export function lastDays(count: number, nowMs: number): Days {
  return { from: dayOf(nowMs - (count - 1) * dayMs), to: dayOf(nowMs) }
}
