import type { UserItem } from '../../../../../src/http/dashboard/api'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Badge, Flag } from '../../components/Badge'

interface UserProps {
  readonly user: UserItem
}

export function UserState({ user }: UserProps) {
  const text = useText()
  const isHeld = user.heldBy.length > 0
  return (
    <span className="row">
      {user.disabled && <Badge tone="bad">{text('users.disabled')}</Badge>}
      {isHeld && <Badge tone="person">{text('users.held')}</Badge>}
      {!user.disabled && !isHeld && <span className="faint">{text('users.enabled')}</span>}
      {user.mustChangePassword && !isHeld && <Flag>{text('users.temporaryPassword')}</Flag>}
    </span>
  )
}

export function UserMerchants({ user }: UserProps) {
  const text = useText()
  const merchantName = useMerchantName()
  if (user.merchantIds === null) return text('common.allMerchants')
  return <bdi>{user.merchantIds.map(merchantName).join(', ')}</bdi>
}
