/** Moments are ISO 8601 in UTC with milliseconds everywhere: compared as text, they are in order. */

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/** The moment so much later. */
export function later(moment: string, ms: number): string {
  return new Date(Date.parse(moment) + ms).toISOString()
}
