import { destination, type Logger, type LoggerOptions, pino, stdSerializers } from 'pino'
import { messageWithRemedy } from '../files/directory-access.js'
import { OutageLog } from './outage-log.js'

const outageCheckMs = 1_000

/** Logs JSON lines to stderr, because stdout is for the banner and for the JSON document of `--json`. */
export function createLogger(level: string, part: string): Logger {
  const outages = new OutageLog()
  const options: LoggerOptions = {
    level,
    base: { part },
    formatters: { log: onlyListed, bindings: onlyListed },
    serializers: { err: shownError, cause: shownError },
    hooks: {
      logMethod(args, method) {
        const [fields] = args as readonly unknown[]
        const err = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : fields
        const lines = outages.linesFor(err)
        if (!lines) return method.apply(this, args)
        for (const { msg, failures } of lines) method.apply(this, [{ err, failures }, msg])
      },
    },
  }
  // Synchronous, so that a line about a crash is written before the process ends, in every thread.
  const logger = pino(options, destination({ dest: 2, sync: true }))
  const reportOver = () => {
    for (const { msg, failures } of outages.over()) logger.warn({ failures }, msg)
  }
  setInterval(reportOver, outageCheckMs).unref()
  return logger
}

/** Replaces fields that are not in the list by their names, because their values may contain anything. */
export function onlyListed(fields: { readonly [name: string]: unknown }): { [name: string]: unknown } {
  const unlisted = Object.keys(fields).filter((name) => !Object.hasOwn(logFields, name))
  if (unlisted.length === 0) return fields
  const listed = Object.entries(fields).filter(([name]) => !unlisted.includes(name))
  return { ...Object.fromEntries(listed), unlisted: unlisted.join() }
}

/** Includes the messages and stacks of the causes, and the remedy if access to a path was refused. Omits properties that a library added, which may contain request data. */
export function shownError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { type, message, stack } = stdSerializers.err(error)
  const { code } = error as { readonly code?: unknown }
  const remedy = messageWithRemedy(error)
  return {
    type,
    message: remedy === error.message ? message : remedy,
    stack,
    ...(typeof code === 'string' && { code }),
  }
}

/**
 * The fields of the service's log lines, with their meaning. Alerts and searches depend on the names, so fields are only ever added. A test
 * compares this list with docs/reference/logs.md.
 */
export const logFields = {
  level: '10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal',
  time: "milliseconds since 1970, by the node's clock",
  part: 'the thread: `main`, `projections`, `callbacks` or `reader`',
  msg: 'a sentence that is always the same, except for numbers and file names',
  err: 'an error: `type`, `message` and `stack`, including its causes, and `code` if it has one',
  event: 'an event of the log as `stream@revision`, or an event of the [security log](security-log.md)',
  code: "the response's [error code](errors.md)",
  requestId: "the response's `X-Request-Id`, which is the `$correlationId` of the recorded events",
  correlationId: 'the same for a command of the command line',
  method: 'GET, POST …',
  url: "the route's pattern, if a request failed",
  route: 'the same, in the security log',
  address: "the caller's address",
  merchantId: 'the merchant of the request or transfer',
  claimedMerchantId: 'the merchant whose id is in the sent key',
  trackingId: 'the transfer',
  userId: 'the user of the dashboard',
  subject: 'the user or object that was changed',
  change: 'the kind of the change',
  login: 'the name of a user of `events serve-grpc`',
  actor: 'the user or program that ran a command',
  command: 'the command',
  outcome: '`done`, `refused` or `failed`',
  of: 'the security event that was not logged individually',
  count: 'the number of those events',
  failures: 'the number of consecutive failures, or of those since the previous line about an outage',
  crashes: 'the number of consecutive crashes of a background thread',
  projection: 'the projection',
  task: 'the task that was requested of the projection',
  by: 'the user or program that requested it',
  group: 'the persistent subscription',
  cause: 'the error, as in `err`, because of which a payment was not started',
  reason: 'a short code for the reason why traces are not sent',
  receipt: 'the SHA-256 of the file of a receipt',
  findings: 'the places that do not verify, and why',
  finished: 'the number of customer erasures that a crash had interrupted',
  step: 'the step of a scenario that was rejected',
  rule: 'the [rule](errors.md) that rejected it or the file of a bank, or `live-merchant`',
  statements: 'the number of statements in the file of a bank',
  transfers: 'the number of sample transfers in the sandbox',
  signal: 'the signal that stops the service',
  host: 'the address that the service listens on',
  port: 'the port that the service listens on',
  baseUrl: 'the URL that merchants and customers use',
  roles: "the node's roles",
  unlisted: 'the names of omitted fields that this list does not contain; please report them',
} as const
