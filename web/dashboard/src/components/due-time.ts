/** Returns the time of what is due, which is now once it has come: what is still to be done is not in the past. */
export function dueOrNow(at: string, nowMs: number): string {
  return Date.parse(at) <= nowMs ? new Date(nowMs).toISOString() : at
}
