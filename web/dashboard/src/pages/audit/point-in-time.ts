/** A moment of the address: an ISO 8601 time, or a position in the log. */
export function isTime(at: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(at) && !Number.isNaN(Date.parse(at))
}

/** 2026-11-21T14:05:09 in the viewer's zone, the second that `at` is in; '' for a position or none. */
export function localSecond(at: string | undefined): string {
  if (at === undefined || !isTime(at)) return ''
  const ms = Date.parse(at)
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** Undefined for none. */
export function momentOf(local: string): string | undefined {
  const ms = Date.parse(local)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
