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

/** Where a list to look through is quicker than one to type into. */
const fewMerchants = 8

export function TopBar({ onSearch }: { readonly onSearch: () => void }) {
  const text = useText()
  const { merchants, sandbox } = useSession()
  return (
    <div className="TopBar">
      <span className="TopBar-name">{text('shell.product')}</span>
      {sandbox && (
        <span title={text('shell.sandboxHelp')}>
          <Badge tone="wait">{text('shell.sandbox')}</Badge>
        </span>
      )}
      {merchants.length > 1 && <MerchantSwitch />}
      <span className="TopBar-space" />
      <Button className="TopBar-search" onPress={onSearch} aria-keyshortcuts="Control+K">
        <span aria-hidden="true">⌕</span>
        <span className="TopBar-words">{text('shell.search')}</span>
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
    { value: 'all', label: text('shell.allMerchants') },
    ...merchants.map(({ merchantId, name }) => ({ value: merchantId, label: name })),
  ]
  const change = (value: string) => {
    if (value === '') return
    void navigate({ to: '.', search: (search) => ({ ...search, merchantId: value === 'all' ? undefined : value }) })
  }
  const common = { label: text('shell.merchantSwitch'), unseenLabel: true, options, onChange: change }
  return (
    <div className="TopBar-merchant">
      {merchants.length > fewMerchants ? (
        <ComboBox {...common} value={chosen ?? 'all'} />
      ) : (
        <Select {...common} value={chosen ?? 'all'} />
      )}
    </div>
  )
}
