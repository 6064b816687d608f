import type { TransferRow } from '../../../../../src/http/dashboard/api'
import { activeClaim, leftMs } from './claim-time'
import { useSecondClock } from './claim-timers'

/** Draws how much of a claim is left. */
export function ClaimBar({ claim }: Pick<TransferRow, 'claim'>) {
  const nowMs = useSecondClock()
  const active = activeClaim(claim, nowMs)
  if (!active) return null
  const { at, until } = active
  const left = until === null ? 1 : Math.min(1, leftMs(active, nowMs) / (Date.parse(until) - Date.parse(at)))
  return (
    <svg className="ClaimBar" aria-hidden="true">
      <rect width={`${(left * 100).toFixed(1)}%`} height="4" rx="2" />
    </svg>
  )
}
