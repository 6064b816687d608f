import { useEffect, useState } from 'react'
import type { TransferRow } from '../../api/contract'

const soonMs = 120_000

export function useNow(everyMs = 1000): number {
  const [nowMs, setNowMs] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return nowMs
}

interface ClaimTold {
  readonly endsSoon: (transfer: TransferRow) => void
  readonly ended: (transfer: TransferRow) => void
}

/** Tells in time that a claim of one's own ends, and that it has ended. A moment that has passed is not told again. */
export function useClaimEnds(transfers: readonly TransferRow[], { endsSoon, ended }: ClaimTold): void {
  useEffect(() => {
    const timers = transfers.flatMap((transfer) => {
      if (!transfer.claim?.mine) return []
      const leftMs = Date.parse(transfer.claim.until) - Date.now()
      const soon = leftMs > soonMs ? [setTimeout(() => endsSoon(transfer), leftMs - soonMs)] : []
      return leftMs > 0 ? [...soon, setTimeout(() => ended(transfer), leftMs)] : []
    })
    return () => timers.forEach(clearTimeout)
  }, [transfers, endsSoon, ended])
}
