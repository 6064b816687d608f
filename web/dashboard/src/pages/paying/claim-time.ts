import type { TransferRow } from '../../api/contract'

type Claim = NonNullable<TransferRow['claim']>

/** The claim, unless its time is over: that it ended by itself is written nowhere. */
export function standing(claim: Claim | null, nowMs: number): Claim | null {
  return claim !== null && nowMs < Date.parse(claim.until) ? claim : null
}

/** 14:59; never more than is left. */
export function minutesAndSeconds(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
