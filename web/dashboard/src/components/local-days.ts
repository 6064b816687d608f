/** Days of the viewer's zone, as date fields have them (2026-11-21), and the moments at which they begin (ISO 8601, UTC). */

const twoDigits = (value: number) => String(value).padStart(2, '0')

export function dayOf(moment: Date): string {
  return `${moment.getFullYear()}-${twoDigits(moment.getMonth() + 1)}-${twoDigits(moment.getDate())}`
}

/** Undefined when it is no day. */
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

/** The last `days` days; the last of them is `endsBefore` days before today. */
export function lastDays(days: number, endsBefore = 0): Period {
  const today = dayOf(new Date())
  return { from: startOf(today, 1 - days - endsBefore)!, to: startOf(today, 1 - endsBefore)! }
}

export function thisMonth(): Period {
  const now = new Date()
  const first = new Date(now.getFullYear(), now.getMonth(), 1)
  return { from: first.toISOString(), to: lastDays(1).to }
}
