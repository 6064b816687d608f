/** Returns whether a point in time from the address is an ISO 8601 time. Otherwise it is a log position. */
export function isTime(at: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(at) && !Number.isNaN(Date.parse(at))
}

/** Returns a local time in UTC (ISO 8601), or `undefined` if it is invalid. */
export function utcOf(local: string): string | undefined {
  const ms = Date.parse(local)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
