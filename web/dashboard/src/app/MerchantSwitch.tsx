import { Store } from 'lucide-react'
import { Suspense } from 'react'
import { useSession } from './current-session'
import { lazyPart } from './lazy-page'
import { useMerchant, useMerchantName } from './merchant-names'
import { useText } from './texts'

const MerchantChoice = lazyPart(async () => (await import('./MerchantChoice')).MerchantChoice)

/** Shows the merchant of every page, and lets the user choose another one. */
export function MerchantSwitch() {
  const text = useText()
  const { merchants } = useSession()
  const chosen = useMerchant()
  const merchantName = useMerchantName()
  if (merchants.length <= 1) return null
  const shown = chosen === undefined ? text('common.allMerchants') : merchantName(chosen)
  return (
    <div className="SideBar-merchant">
      <Store />
      <Suspense fallback={<span className="SideBar-chosen cut">{shown}</span>}>
        <MerchantChoice />
      </Suspense>
    </div>
  )
}
