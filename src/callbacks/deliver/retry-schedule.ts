import type { AttemptOutcome } from '../../domain/callback.js'
import { hourMs, minuteMs } from '../../kernel/time.js'
import type { EndpointResponse } from './endpoint-connection.js'

/** The delay after each failed attempt, by the number of failures so far (docs/merchants/callbacks.md). */
export const retryDelaysMs: readonly number[] = [
  ...[5_000, 5 * minuteMs, 30 * minuteMs],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
]

const maxRetryAfterMs = 24 * hourMs

/** The largest part that is added to a delay, so that callbacks that failed together are not retried together. */
const jitter = 0.1

/**
 * Returns the milliseconds from the `failures`-th failure (from 1) to the next attempt, or `undefined` after the last one. The delay is
 * never shorter than the schedule's or the one that the endpoint requested. `random` is in [0, 1).
 */
export function retryDelayMs(failures: number, random: number, retryAfterMs = 0): number | undefined {
  const delay = retryDelaysMs[failures - 1]
  if (delay === undefined) return undefined
  return Math.round(Math.max(delay, retryAfterMs) * (1 + jitter * random))
}

/** Returns the milliseconds that a `Retry-After` header requests (seconds or an HTTP date), at most 24 hours, or `undefined` if it is invalid. */
export function parseRetryAfterMs(header: string, nowMs: number): number | undefined {
  const text = header.trim()
  // Checks the form first, because `Date.parse` also accepts `-1` and `1.5`.
  const dateMs = /^[A-Z][a-z]{2,8}, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN
  const requestedMs = /^\d{1,10}$/.test(text) ? Number(text) * 1_000 : dateMs - nowMs
  return Number.isNaN(requestedMs) ? undefined : Math.min(Math.max(requestedMs, 0), maxRetryAfterMs)
}

/**
 * Returns the outcome of an attempt. `failuresBefore` counts since the callback was recorded or requeued, and `random` is in [0, 1). After
 * a 410 the callback waits until the endpoint is enabled, regardless of its number of failures.
 */
export function outcomeOf(
  response: EndpointResponse,
  failuresBefore: number,
  nowMs: number,
  random: number,
): AttemptOutcome {
  const { failure: reason, retryAfter } = response
  if (reason === null) return { result: 'delivered' }
  const retryAfterMs = retryAfter === undefined ? undefined : parseRetryAfterMs(retryAfter, nowMs)
  const delayMs = isGone(response) ? 0 : retryDelayMs(failuresBefore + 1, random, retryAfterMs)
  if (delayMs === undefined) return { result: 'parked', reason }
  return { result: 'failed', reason, nextAttemptAt: new Date(nowMs + delayMs).toISOString() }
}

/** Whether the endpoint rejects all further callbacks. */
export function isGone({ httpStatus }: EndpointResponse): boolean {
  return httpStatus === 410
}
