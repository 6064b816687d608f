/** Returns the current time in UTC as ISO 8601 with milliseconds. */
export type Clock = () => string

/** Creates the service's clock. It formats each millisecond once, because many requests ask within the same one. */
export function systemClock(): Clock {
  let writtenMs = Number.NaN
  let written = ''
  return () => {
    const nowMs = Date.now()
    if (nowMs !== writtenMs) {
      writtenMs = nowMs
      written = new Date(nowMs).toISOString()
    }
    return written
  }
}

/**
 * Returns a clock that never goes back and never stops. When the system's clock is set back, it continues at the pace of the monotonic one,
 * because a due time in memory would otherwise wait for as long as the clock was set back.
 */
export function steadyClock(nowMs: () => number, monotonicMs = () => performance.now()): () => number {
  let [readMs, readAtMs] = [nowMs(), monotonicMs()]
  return () => {
    const atMs = monotonicMs()
    readMs = Math.max(nowMs(), readMs + atMs - readAtMs)
    readAtMs = atMs
    return readMs
  }
}

/**
 * Returns the milliseconds that are left of a recorded wait, or 0 if it has ended. A time before its start means that the clock was set
 * back: the wait has ended, because it would otherwise last longer by that much.
 */
export function leftOfWaitMs(sinceMs: number, untilMs: number, nowMs: number): number {
  return nowMs < sinceMs ? 0 : Math.max(0, untilMs - nowMs)
}

/** Times are ISO 8601 in UTC with milliseconds everywhere, so that their order as text is their order in time. */

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs
export const addMs = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString()

/** Returns the day of a time in a time zone, such as `2026-03-01`. @throws RangeError for an unknown zone */
export function dateIn(timeZone: string, time: string): string {
  // Swedish dates are those of ISO 8601.
  return new Date(time).toLocaleDateString('sv-SE', { timeZone })
}

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/

/** Parses an ISO 8601 time or date (UTC). Returns the stored form, or `undefined` if none exists: `Date.parse` accepts February 30. */
export function parseTime(text: string): string | undefined {
  const [, year, month, day] = pattern.exec(text) ?? []
  if (year === undefined) return undefined
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day)) return undefined
  const time = new Date(text).toISOString()
  // A zone can lead to a year that is not written with four digits. Such times do not sort as text.
  return time.length === 'yyyy-mm-ddThh:mm:ss.mmmZ'.length ? time : undefined
}

/** Returns whether the text is a date of the calendar, such as `2026-03-01`. */
export const isDate = (text: string): boolean => parseTime(text) === `${text}T00:00:00.000Z`

/** Before every time of the log. */
export const never = new Date(0).toISOString()
