import { isIP } from 'node:net'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { SecurityEvent, SecurityLog } from '../../security/security-log.js'
import { bucketOf, TokenBuckets } from '../../security/token-buckets.js'

/** Lines of one event from one address, and of one event from everybody: guesses must neither fill a disk nor hide one another. */
const perAddress = { perSecond: 0.1, burst: 20 }
const perEvent = { perSecond: 2, burst: 200 }
const maxAddresses = 100_000
/** After how long the events that got no line are summed up in one. */
const tellMoreAfterMs = 10_000

export interface RunningSecurityLog extends SecurityLog {
  /** Writes the sums that are still due. */
  close(): void
}

/** One line for each event in the service's log, in bounded number, and a count of all in the metrics. */
export function createSecurityLog(
  logger: Logger,
  registry: Registry | undefined,
  nowMs: () => number,
): RunningSecurityLog {
  // Warnings are written even where the log level would drop them.
  const lines = logger.child({}, { level: logger.level === 'silent' ? 'silent' : 'warn' })
  const counter = new Counter({
    name: 'transferd_security_events_total',
    help: 'What the security log tells of; also what it had no line for.',
    labelNames: ['event'],
    registers: registry ? [registry] : [],
  })
  const addresses = new TokenBuckets(nowMs, maxAddresses)
  const events = new TokenBuckets(nowMs, maxAddresses)
  const suppressed = new Map<SecurityEvent, number>()
  let timer: NodeJS.Timeout | undefined

  const write = (event: SecurityEvent, fields: object) => lines.warn({ event, ...fields }, event)
  const tellMore = () => {
    clearTimeout(timer)
    timer = undefined
    for (const [event, count] of suppressed) write('security.more', { of: event, count })
    suppressed.clear()
  }
  return {
    note(event, fields) {
      counter.inc({ event })
      const { address = '' } = fields as { readonly address?: string | number | null }
      const isFree =
        addresses.take(`${event} ${networkOf(String(address))}`, perAddress.perSecond, perAddress.burst) === 0 &&
        events.take(event, perEvent.perSecond, perEvent.burst) === 0
      if (isFree) return write(event, fields)
      suppressed.set(event, (suppressed.get(event) ?? 0) + 1)
      timer ??= setTimeout(tellMore, tellMoreAfterMs).unref()
    },
    close: tellMore,
  }
}

/** Whoever has an IPv6 network has addresses enough to take every line. Some events tell of the network already. */
function networkOf(address: string): string {
  return isIP(address) === 6 ? bucketOf(address) : address
}
