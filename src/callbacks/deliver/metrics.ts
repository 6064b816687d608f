/** What the callbacks tell about themselves. Called often: count, do nothing else. */
export interface CallbackMetrics {
  attempted(outcome: 'delivered' | 'failed' | 'parked', durationMs: number): void
  /** How long after it was due a callback was attempted. */
  waited(ms: number): void
  /** By the persistent subscription, or by the sweep because that had missed it. */
  recorded(by: 'subscription' | 'sweep', count: number): void
  /** A merchant's endpoint was disabled by the service. */
  disabled(): void
}
