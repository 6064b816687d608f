import { destination, type Logger, pino, stdSerializers } from 'pino'
import { logFields } from './log-fields.js'

/** JSON lines on stderr: stdout belongs to the banner, and to the one JSON document of `--json`. */
export function createLogger(level: string, part: string): Logger {
  const options = {
    ...{ level, base: { part } },
    formatters: { log: onlyListed, bindings: onlyListed },
    serializers: { err: shownError, cause: shownError },
  }
  // Synchronous: a line about a crash must be out before the crash is complete, from whichever thread.
  return pino(options, destination({ dest: 2, sync: true }))
}

/** A field that nobody has thought about may hold anything: its name is told, and its value is not. */
export function onlyListed(fields: { readonly [name: string]: unknown }): { [name: string]: unknown } {
  const unlisted = Object.keys(fields).filter((name) => !Object.hasOwn(logFields, name))
  if (unlisted.length === 0) return fields
  const listed = Object.entries(fields).filter(([name]) => !unlisted.includes(name))
  return { ...Object.fromEntries(listed), unlisted: unlisted.join() }
}

/** With the messages and stacks of its causes, and nothing that a library has put on it. */
export function shownError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { type, message, stack } = stdSerializers.err(error)
  const { code } = error as { readonly code?: unknown }
  return { type, message, stack, ...(typeof code === 'string' && { code }) }
}
