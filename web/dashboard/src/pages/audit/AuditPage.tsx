import { getRouteApi } from '@tanstack/react-router'
import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { Tabs } from '../../components/Tabs'
import { AuditActionList } from './AuditActionList'
import { AuditExport } from './AuditExport'
import { IntegrityView } from './IntegrityView'
import { MerchantHistory } from './MerchantHistory'
import { TransferHistory } from './TransferHistory'
import { UserHistory } from './UserHistory'
import './AuditPage.css'

const route = getRouteApi('/pages/audit')

/** Shows past events and states, who caused them, and whether the log is intact. */
export function AuditPage() {
  const text = useText()
  const { view = 'transfer' } = route.useSearch()
  const navigate = route.useNavigate()
  const views = [
    { id: 'transfer', label: text('audit.view.transfer'), content: <TransferHistory /> },
    { id: 'merchant', label: text('audit.view.merchant'), content: <MerchantHistory /> },
    { id: 'user', label: text('audit.view.user'), content: <UserHistory /> },
    { id: 'actions', label: text('audit.view.actions'), content: <AuditActionList /> },
    { id: 'integrity', label: text('audit.view.integrity'), content: <IntegrityView /> },
    { id: 'export', label: text('audit.view.export'), content: <AuditExport /> },
  ]
  return (
    <Page title={text('audit.title')}>
      <Tabs
        label={text('audit.views')}
        items={views}
        selected={views.some(({ id }) => id === view) ? view : 'transfer'}
        onSelect={(id) => {
          if (id !== view) void navigate({ search: ({ merchantId }) => ({ merchantId, view: id }) })
        }}
      />
    </Page>
  )
}
