/** The time as everything of the service has it. What is asked within one millisecond, as by requests of one turn, is written out once. */
export function systemClock(): () => string {
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
