/** Days in the viewer's time zone, written like 2026-11-21, and the times at which they start (ISO 8601, UTC). */

const twoDigits = (value: number) => String(value).padStart(2, '0')

export function dayOf(time: Date): string {
  return `${time.getFullYear()}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`
}

/** Returns `undefined` if the text is not a day. */
export function startOf(day: string, offsetDays = 0): string | undefined {
  const [year, month, date] = day.split('-').map(Number)
  if (!year || !month || !date || year < 2000 || year > 9999) return undefined
  return new Date(year, month - 1, date + offsetDays).toISOString()
}

export interface Period {
  readonly from: string
  /** Exclusive. */
  readonly to: string
}

/** Returns a period of `days` days that ends `endsBefore` days before the end of today. */
export function lastDays(days: number, endsBefore = 0): Period {
  const today = dayOf(new Date())
  return { from: startOf(today, 1 - days - endsBefore)!, to: startOf(today, 1 - endsBefore)! }
}

export function thisMonth(): Period {
  const now = new Date()
  const first = new Date(now.getFullYear(), now.getMonth(), 1)
  return { from: first.toISOString(), to: lastDays(1).to }
}

/** Returns a time in the viewer's zone, such as 2026-11-21T14:05:09. */
export function localTime(at: string): string {
  const ms = Date.parse(at)
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
