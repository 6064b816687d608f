import type { AttemptOutcome } from '../../domain/callback/callback.js'
import type { Answer } from './connection.js'
import { retryDelayMs } from './schedule.js'

/**
 * What an answer means for the callback. `failuresBefore`: since it was recorded or requeued; `atMs`: now; `random` in [0, 1).
 * After a 410 it waits for the endpoint to be enabled, whatever its number of failures.
 */
export function outcomeOf(answer: Answer, failuresBefore: number, atMs: number, random: number): AttemptOutcome {
  const { failure: reason } = answer
  if (reason === null) return { result: 'delivered' }
  const delayMs = isGone(answer) ? 0 : retryDelayMs(failuresBefore + 1, random, answer.retryAfterMs)
  if (delayMs === undefined) return { result: 'parked', reason }
  return { result: 'failed', reason, nextAttemptAt: new Date(atMs + delayMs).toISOString() }
}

/** The endpoint wants no more callbacks. */
export function isGone(answer: Answer): boolean {
  return answer.httpStatus === 410
}
