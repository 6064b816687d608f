import { dateIn, dayMs, minuteMs } from '../kernel/time.js'

const quarterMs = 15 * minuteMs
/** No zone is further from UTC. */
const maxOffsetMs = 16 * 60 * minuteMs

export function dayAfter(day: string): string {
  return new Date(Date.parse(day) + dayMs).toISOString().slice(0, 'yyyy-mm-dd'.length)
}

/** Returns the first time of a day in the time zone, which is a whole quarter of an hour in UTC and not midnight on a day without one. */
export function startOfDay(timeZone: string, day: string): string {
  const utcMs = Date.parse(day)
  let [before, atOrAfter] = [utcMs - maxOffsetMs, utcMs + maxOffsetMs]
  while (atOrAfter - before > quarterMs) {
    const middle = before + Math.floor((atOrAfter - before) / 2 / quarterMs) * quarterMs
    if (dateIn(timeZone, new Date(middle).toISOString()) < day) before = middle
    else atOrAfter = middle
  }
  return new Date(atOrAfter).toISOString()
}
