import { Counter, Histogram, type Registry } from 'prom-client'
import { BoundedLabel } from '../tracing/tracing.js'

export type CallbackMetrics = ReturnType<typeof callbackMetrics>

/** Registers the metrics of callbacks. The only id in a label is the merchant's, for a bounded number of merchants. */
export function callbackMetrics(registry: Registry) {
  const registers = [registry]
  const attempts = new Histogram({
    name: 'transferd_callback_attempt_duration_seconds',
    help: 'Duration of callback attempts, up to the end of the response.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  })
  const waits = new Histogram({
    name: 'transferd_callback_wait_seconds',
    help: 'Delay between the time when a callback was due and its attempt.',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300],
    registers,
  })
  const recorded = new Counter({
    name: 'transferd_callbacks_recorded_total',
    help: 'Recorded callbacks, by the subscription or by the sweep that records what the subscription missed.',
    labelNames: ['by'],
    registers,
  })
  const disabled = new Counter({
    name: 'transferd_callback_endpoints_disabled_total',
    help: 'Endpoints that the service disabled.',
    registers,
  })
  const failures = new Counter({
    name: 'transferd_merchant_callback_failures_total',
    help: 'Failed attempts by merchant: one series for each of the first fifty merchants of the process, and one for all others.',
    labelNames: ['merchant'],
    registers,
  })
  const merchants = new BoundedLabel()
  return {
    observeAttempt(merchantId: string, outcome: 'delivered' | 'failed' | 'parked', durationMs: number): void {
      attempts.observe({ outcome }, durationMs / 1000)
      if (outcome !== 'delivered') failures.inc({ merchant: merchants.of(merchantId) })
    },
    observeWait: (ms: number): void => waits.observe(ms / 1000),
    countRecorded: (by: 'subscription' | 'sweep', count: number): void => recorded.inc({ by }, count),
    countDisabled: (): void => disabled.inc(),
  }
}
