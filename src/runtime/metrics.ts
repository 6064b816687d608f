import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { CallbackMetrics } from '../callbacks/metrics.js'

/** The metrics of the main thread, and with every scrape those of the background thread behind them. */
export class ServiceRegistry extends Registry {
  constructor(private readonly background: () => Promise<string>) {
    super()
    collectDefaultMetrics({ register: this })
  }

  override async metrics(): Promise<string> {
    const [main, background] = await Promise.all([super.metrics(), this.background()])
    return `${main}\n${background}`
  }
}

/** Labels are outcomes only, never an id. */
export function callbackMetrics(registry: Registry): CallbackMetrics {
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
  return {
    attempted: (outcome, durationMs) => attempts.observe({ outcome }, durationMs / 1000),
    waited: (ms) => waits.observe(ms / 1000),
    recorded: (by, count) => recorded.inc({ by }, count),
    disabled: () => disabled.inc(),
  }
}
