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
