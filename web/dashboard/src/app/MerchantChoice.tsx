import { useNavigate } from '@tanstack/react-router'
import { ComboBox } from '../components/ComboBox'
import { Select } from '../components/Select'
import { useSession } from './current-session'
import { useMerchant } from './merchant-names'
import { useText } from './texts'

/** Up to this number a list is quicker to use than a search field. */
const maxListedMerchants = 8

/** Chooses the merchant of every page. It is kept in the address. */
export function MerchantChoice() {
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
  const Choice = merchants.length > maxListedMerchants ? ComboBox : Select
  return <Choice {...common} value={chosen ?? 'all'} />
}
