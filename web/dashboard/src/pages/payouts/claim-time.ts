import type { TransferRow } from '../../../../../src/http/dashboard/api'

type Claim = NonNullable<TransferRow['claim']>

/** Returns the claim, or null once its time has passed. The expiry of a claim is not an event, so rows still contain the claim. */
export function activeClaim(claim: Claim | null, nowMs: number): Claim | null {
  return claim !== null && leftMs(claim, nowMs) > 0 ? claim : null
}

/** Returns the remaining time. It is infinite for a withdrawal in a bank file. */
export function leftMs({ until }: Pick<Claim, 'until'>, nowMs: number): number {
  return until === null ? Number.POSITIVE_INFINITY : Date.parse(until) - nowMs
}

/** Formats a duration such as 14:59, rounded down. */
export function minutesAndSeconds(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
