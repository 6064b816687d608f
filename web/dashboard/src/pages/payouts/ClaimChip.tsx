import type { TransferRow } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { activeClaim, leftMs, minutesAndSeconds } from './claim-time'
import { useSecondClock } from './claim-timers'

/** States who holds the claim and the remaining time, or nothing once the claim has ended. */
export function ClaimChip({ claim }: Pick<TransferRow, 'claim'>) {
  const text = useText()
  const actorName = useActorName()
  const nowMs = useSecondClock()
  const active = activeClaim(claim, nowMs)
  if (!active) return null
  const [name, isEndless] = [actorName(active.name), active.until === null]
  const left = isEndless ? '' : minutesAndSeconds(leftMs(active, nowMs))
  return (
    <span className="ClaimChip">
      {active.mine
        ? text(isEndless ? 'payouts.holdMine' : 'payouts.claimMine', { left })
        : text(isEndless ? 'payouts.holdOther' : 'payouts.claimOther', { name, left })}
    </span>
  )
}
