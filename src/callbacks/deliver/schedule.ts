import type { AttemptOutcome } from '../../domain/callback/callback-decider.js'
import type { Answer } from './send.js'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** How long after each failed attempt the next one comes, by the number of failures so far (docs/merchants/callbacks.md). */
export const retryDelaysMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

/** An endpoint that answered nothing but failures for this long is disabled. */
export const disableAfterMs = 120 * hour

const maxRetryAfterMs = 24 * hour

/** Added to a delay at most, so that callbacks that failed together do not come back together. */
const jitter = 0.1

/**
 * Milliseconds until the next attempt after the `failures`-th failure (from 1); undefined when that was the last one.
 * Never earlier than the schedule or than what the endpoint asked for. `random` is in [0, 1).
 */
export function retryDelayMs(failures: number, random: number, retryAfterMs = 0): number | undefined {
  const delay = retryDelaysMs[failures - 1]
  if (delay === undefined) return undefined
  return Math.round(Math.max(delay, retryAfterMs) * (1 + jitter * random))
}

/** Milliseconds a `Retry-After` header asks for (seconds or an HTTP date), at most 24 hours; undefined when it says nothing. */
export function parseRetryAfterMs(header: string, nowMs: number): number | undefined {
  const text = header.trim()
  const wanted = /^\d{1,10}$/.test(text) ? Number(text) * second : httpDateMs(text) - nowMs
  return Number.isNaN(wanted) ? undefined : Math.min(Math.max(wanted, 0), maxRetryAfterMs)
}

/** `Date.parse` reads much that is no HTTP date, such as `-1` or `1.5`. */
function httpDateMs(text: string): number {
  return /^[A-Z][a-z]{2,8}, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN
}

/**
 * What an answer means for the callback. `failuresBefore`: since it was recorded or requeued; `atMs`: now; `random` in [0, 1).
 * After a 410 it waits for the endpoint to be enabled, whatever its number of failures.
 */
export function outcomeOf(answer: Answer, failuresBefore: number, atMs: number, random: number): AttemptOutcome {
  const { failure: reason } = answer
  if (reason === null) return { result: 'delivered' }
  const retryAfterMs = answer.retryAfter === undefined ? undefined : parseRetryAfterMs(answer.retryAfter, atMs)
  const delayMs = isGone(answer) ? 0 : retryDelayMs(failuresBefore + 1, random, retryAfterMs)
  if (delayMs === undefined) return { result: 'parked', reason }
  return { result: 'failed', reason, nextAttemptAt: new Date(atMs + delayMs).toISOString() }
}

/** The endpoint wants no more callbacks. */
export function isGone(answer: Answer): boolean {
  return answer.httpStatus === 410
}
