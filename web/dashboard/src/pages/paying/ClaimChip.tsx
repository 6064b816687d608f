import type { TransferRow } from '../../api/contract'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { useServerWords } from '../../components/server-words'
import { minutesAndSeconds, standing } from './claim-time'
import { useNow } from './claim-timers'

/** Who has it and for how long still; nothing once the time is over. */
export function ClaimChip({ claim }: Pick<TransferRow, 'claim'>) {
  const text = useText()
  const { name } = useServerWords()
  const nowMs = useNow()
  const valid = standing(claim, nowMs)
  if (!valid) return null
  const left = minutesAndSeconds(Date.parse(valid.until) - nowMs)
  return (
    <Badge tone={valid.mine ? 'info' : 'off'}>
      {valid.mine ? text('paying.claimMine', { left }) : text('paying.claimOther', { name: name(valid.name), left })}
    </Badge>
  )
}
