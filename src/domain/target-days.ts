import { addMs, dateIn, dayMs } from '../kernel/time.js'

/**
 * The days on which SEPA payments settle: those of TARGET, the system of the European Central Bank. Dates are such as `2026-03-02`. A day
 * starts in Frankfurt, wherever the operator is.
 */

/** The time zone of Frankfurt. */
export const targetZone = 'Europe/Berlin'
export const targetDate = (time: string): string => dateIn(targetZone, time)

const startOf = (date: string): string => `${date}T00:00:00.000Z`
export const addDays = (date: string, days: number): string => addMs(startOf(date), days * dayMs).slice(0, 10)

const closedDays = new Set(['01-01', '05-01', '12-25', '12-26'])

export function isTargetDay(date: string): boolean {
  const weekday = new Date(startOf(date)).getUTCDay()
  if (weekday === 0 || weekday === 6 || closedDays.has(date.slice(5))) return false
  const easter = easterSunday(Number(date.slice(0, 4)))
  return date !== addDays(easter, -2) && date !== addDays(easter, 1)
}

/** Returns the first day of TARGET on or after the date. */
export function targetDayFrom(date: string): string {
  return isTargetDay(date) ? date : targetDayFrom(addDays(date, 1))
}

/** Computes the date by the Gregorian algorithm that J.-M. Oudin published in 1940. */
function easterSunday(year: number): string {
  const century = Math.floor(year / 100)
  const golden = year % 19
  const correction = Math.floor((century - 17) / 25)
  const shifted = (century - Math.floor(century / 4) - Math.floor((century - correction) / 3) + 19 * golden + 15) % 30
  const isLate = Math.floor(shifted / 28) * Math.floor(29 / (shifted + 1)) * Math.floor((21 - golden) / 11)
  const moon = shifted - Math.floor(shifted / 28) * (1 - isLate)
  const weekday = (year + Math.floor(year / 4) + moon + 2 - century + Math.floor(century / 4)) % 7
  return addDays(`${String(year).padStart(4, '0')}-03-28`, moon - weekday)
}
