import { useNavigate } from '@tanstack/react-router'
import { Badge } from '../components/Badge'
import { Button } from '../components/Button'
import { ComboBox } from '../components/ComboBox'
import { Select } from '../components/Select'
import { useSession } from './current-session'
import { useMerchant } from './merchant-names'
import { useText } from './texts'
import { UserMenu } from './UserMenu'
import './TopBar.css'

/** Up to this number a list is quicker to use than a search field. */
const maxListedMerchants = 8

export function TopBar({ onSearch }: { readonly onSearch: () => void }) {
  const text = useText()
  const { merchants, sandbox } = useSession()
  return (
    <div className="TopBar">
      <span className="TopBar-name">{text('shell.product')}</span>
      {sandbox && (
        <span title={text('shell.sandboxHelp')}>
          <Badge tone="wait">{text('merchants.sandbox')}</Badge>
        </span>
      )}
      {merchants.length > 1 && <MerchantSwitch />}
      <span className="TopBar-space" />
      <Button className="TopBar-search" onPress={onSearch} aria-keyshortcuts="Control+K">
        <span aria-hidden="true">⌕</span>
        <span className="TopBar-text">{text('shell.search')}</span>
        <kbd>{text('shell.searchKeys')}</kbd>
      </Button>
      <UserMenu />
    </div>
  )
}

function MerchantSwitch() {
  const text = useText()
  const { merchants } = useSession()
  const chosen = useMerchant()
  const navigate = useNavigate()
  const options = [
    { value: 'all', label: text('common.allMerchants') },
    ...merchants.map(({ merchantId, name }) => ({ value: merchantId, label: name })),
  ]
  const change = (value: string) => {
    if (value === '') return
    void navigate({ to: '.', search: (search) => ({ ...search, merchantId: value === 'all' ? undefined : value }) })
  }
  const common = { label: text('fields.merchantId'), hiddenLabel: true, options, onChange: change }
  return (
    <div className="TopBar-merchant">
      {merchants.length > maxListedMerchants ? (
        <ComboBox {...common} value={chosen ?? 'all'} />
      ) : (
        <Select {...common} value={chosen ?? 'all'} />
      )}
    </div>
  )
}
