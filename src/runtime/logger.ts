import { destination, type Logger, pino } from 'pino'

/** JSON lines on stderr: stdout belongs to the banner, and to the one JSON document of `--json`. */
export function createLogger(level: string, part: string): Logger {
  // Synchronous: a line about a crash must be out before the crash is complete, from whichever thread.
  return pino({ level, base: { part } }, destination({ dest: 2, sync: true }))
}
