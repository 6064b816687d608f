import type { MerchantItem } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Badge, Flag } from '../../components/Badge'

export function MerchantState({ merchant }: { readonly merchant: MerchantItem }) {
  const text = useText()
  if (merchant.suspended) return <Badge tone="bad">{text('merchants.suspended')}</Badge>
  if (merchant.settings.sandbox) return <Flag>{text('merchants.sandbox')}</Flag>
  return <Badge tone="good">{text('merchants.live')}</Badge>
}
