import type { MerchantItem } from '../../api/contract'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'

export function MerchantState({ merchant }: { readonly merchant: MerchantItem }) {
  const text = useText()
  if (merchant.suspended) return <Badge tone="bad">{text('merchants.suspended')}</Badge>
  if (merchant.settings.sandbox) return <Badge tone="accent">{text('merchants.sandbox')}</Badge>
  return <Badge tone="good">{text('merchants.live')}</Badge>
}
