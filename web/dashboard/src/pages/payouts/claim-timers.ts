import { useEffect, useState } from 'react'
import type { TransferRow } from '../../../../../src/http/dashboard/api'
import { leftMs } from './claim-time'

const warningMs = 120_000

/** Returns the time in milliseconds, updated every second. */
export function useSecondClock(): number {
  const [nowMs, setNowMs] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return nowMs
}

interface ClaimHandlers {
  readonly onEndsSoon: (transfer: TransferRow) => void
  readonly onEnded: (transfer: TransferRow) => void
}

/** Calls the handlers two minutes before a claim of the user ends, and when it ends. Times that have already passed are ignored. */
export function useClaimTimers(transfers: readonly TransferRow[], { onEndsSoon, onEnded }: ClaimHandlers): void {
  useEffect(() => {
    const timers = transfers.flatMap((transfer) => {
      if (!transfer.claim?.mine) return []
      const left = leftMs(transfer.claim, Date.now())
      if (left === Number.POSITIVE_INFINITY) return []
      const warning = left > warningMs ? [setTimeout(() => onEndsSoon(transfer), left - warningMs)] : []
      return left > 0 ? [...warning, setTimeout(() => onEnded(transfer), left)] : []
    })
    return () => timers.forEach(clearTimeout)
  }, [transfers, onEndsSoon, onEnded])
}
