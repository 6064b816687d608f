import { isIP } from 'node:net'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { SecurityEvent, SecurityLog } from '../../security/security-log.js'
import { bucketOf, TokenBuckets } from '../../security/token-buckets.js'

/** Limits per event and address, and per event: guesses must neither fill the disk nor hide other events. */
const perAddress = { perSecond: 0.1, burst: 20 }
const perEvent = { perSecond: 2, burst: 200 }
const maxAddresses = 100_000
/** Events above the limits are counted, and logged as a sum after this time. */
const sumAfterMs = 10_000

/** Logs each security event within limits, and counts all of them in a metric. `close` logs the pending sums. */
export function createSecurityLog(
  logger: Logger,
  registry: Registry | undefined,
  nowMs: () => number,
): SecurityLog & { close(): void } {
  // Security events are logged regardless of the log level, unless logging is off.
  const lines = logger.child({}, { level: logger.level === 'silent' ? 'silent' : 'warn' })
  const counter = new Counter({
    name: 'transferd_security_events_total',
    help: 'Events of the security log, including those that were not logged individually.',
    labelNames: ['event'],
    registers: registry ? [registry] : [],
  })
  const addresses = new TokenBuckets(nowMs, maxAddresses)
  const events = new TokenBuckets(nowMs, maxAddresses)
  const suppressed = new Map<SecurityEvent, number>()
  let timer: NodeJS.Timeout | undefined

  const write = (event: SecurityEvent, fields: object) => lines.warn({ event, ...fields }, event)
  const logSums = () => {
    clearTimeout(timer)
    timer = undefined
    for (const [event, count] of suppressed) write('security.more', { of: event, count })
    suppressed.clear()
  }
  return {
    note(event, fields) {
      counter.inc({ event })
      const { address = '' } = fields as { readonly address?: string | number | null }
      const isWithinLimits =
        addresses.take(`${event} ${networkOf(String(address))}`, perAddress.perSecond, perAddress.burst) === 0 &&
        events.take(event, perEvent.perSecond, perEvent.burst) === 0
      if (isWithinLimits) return write(event, fields)
      suppressed.set(event, (suppressed.get(event) ?? 0) + 1)
      timer ??= setTimeout(logSums, sumAfterMs).unref()
    },
    close: logSums,
  }
}

/** A single IPv6 network has enough addresses to use up every limit, so it counts as one. Some events already contain the network. */
function networkOf(address: string): string {
  return isIP(address) === 6 ? bucketOf(address) : address
}
