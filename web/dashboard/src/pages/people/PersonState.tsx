import type { UserItem } from '../../api/contract'
import { useMerchantName } from '../../app/merchants'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'

interface PersonProps {
  readonly user: UserItem
}

export function PersonState({ user }: PersonProps) {
  const text = useText()
  return (
    <span className="row">
      <Badge tone={user.disabled ? 'bad' : 'good'}>{text(user.disabled ? 'people.disabled' : 'people.enabled')}</Badge>
      {user.mustChangePassword && <Badge tone="wait">{text('people.firstPassword')}</Badge>}
      {user.hasSecondFactor && <Badge tone="info">{text('people.secondFactor')}</Badge>}
    </span>
  )
}

export function PersonMerchants({ user }: PersonProps) {
  const text = useText()
  const merchantName = useMerchantName()
  if (user.merchantIds === null) return text('people.allMerchants')
  return <bdi>{user.merchantIds.map(merchantName).join(', ')}</bdi>
}
