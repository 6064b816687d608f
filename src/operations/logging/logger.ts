import { destination, type Logger, pino, stdSerializers } from 'pino'
import { logFields } from './log-fields.js'

/** Logs JSON lines to stderr, because stdout is for the banner and for the JSON document of `--json`. */
export function createLogger(level: string, part: string): Logger {
  const options = {
    ...{ level, base: { part } },
    formatters: { log: onlyListed, bindings: onlyListed },
    serializers: { err: shownError, cause: shownError },
  }
  // Synchronous, so that a line about a crash is written before the process ends, in every thread.
  return pino(options, destination({ dest: 2, sync: true }))
}

/** Replaces fields that are not in the list by their names, because their values may contain anything. */
export function onlyListed(fields: { readonly [name: string]: unknown }): { [name: string]: unknown } {
  const unlisted = Object.keys(fields).filter((name) => !Object.hasOwn(logFields, name))
  if (unlisted.length === 0) return fields
  const listed = Object.entries(fields).filter(([name]) => !unlisted.includes(name))
  return { ...Object.fromEntries(listed), unlisted: unlisted.join() }
}

/** Includes the messages and stacks of the causes, and omits properties that a library added. */
export function shownError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { type, message, stack } = stdSerializers.err(error)
  const { code } = error as { readonly code?: unknown }
  return { type, message, stack, ...(typeof code === 'string' && { code }) }
}
