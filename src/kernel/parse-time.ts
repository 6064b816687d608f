const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/

/**
 * A moment that somebody wrote, in UTC with milliseconds, as stored: an ISO 8601 time with its zone, or a date, which is its first
 * moment in UTC. Undefined when there is no such moment; Date.parse takes February 30 for March 2.
 */
export function parseMoment(text: string): string | undefined {
  const [, year, month, day] = pattern.exec(text) ?? []
  if (year === undefined) return undefined
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day)) return undefined
  const moment = new Date(text).toISOString()
  // A zone may lead out of the years that are written with four digits, which alone sort as text.
  return moment.length === 'yyyy-mm-ddThh:mm:ss.mmmZ'.length ? moment : undefined
}
