import { Counter, Histogram, type Registry } from 'prom-client'
import { BoundedLabel } from '../tracing/bounded-label.js'

export type CallbackMetrics = ReturnType<typeof callbackMetrics>

/** What the callbacks tell about themselves. No label is an id but that of merchants, of whom a bounded number has one. */
export function callbackMetrics(registry: Registry) {
  const registers = [registry]
  const attempts = new Histogram({
    name: 'transferd_callback_attempt_duration_seconds',
    help: 'From the beginning of an attempt to the end of the answer.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  })
  const waits = new Histogram({
    name: 'transferd_callback_wait_seconds',
    help: 'How long after it was due a callback was attempted.',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300],
    registers,
  })
  const recorded = new Counter({
    name: 'transferd_callbacks_recorded_total',
    help: 'Callbacks recorded, by the subscription or by the sweep that looks for what it missed.',
    labelNames: ['by'],
    registers,
  })
  const disabled = new Counter({
    name: 'transferd_callback_endpoints_disabled_total',
    help: 'Endpoints that the service stopped sending to.',
    registers,
  })
  const failures = new Counter({
    name: 'transferd_merchant_callback_failures_total',
    help: 'Attempts that delivered nothing, by merchant: the first fifty of the process each, all others as one.',
    labelNames: ['merchant'],
    registers,
  })
  const merchants = new BoundedLabel()
  return {
    attempted(merchantId: string, outcome: 'delivered' | 'failed' | 'parked', durationMs: number): void {
      attempts.observe({ outcome }, durationMs / 1000)
      if (outcome !== 'delivered') failures.inc({ merchant: merchants.of(merchantId) })
    },
    waited: (ms: number): void => waits.observe(ms / 1000),
    /** By the persistent subscription, or by the sweep because that had missed it. */
    recorded: (by: 'subscription' | 'sweep', count: number): void => recorded.inc({ by }, count),
    disabled: (): void => disabled.inc(),
  }
}
