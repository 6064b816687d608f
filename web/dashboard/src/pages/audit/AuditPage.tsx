import { getRouteApi } from '@tanstack/react-router'
import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { Tabs } from '../../components/Tabs'
import { Actions } from './Actions'
import { Export } from './Export'
import { Integrity } from './Integrity'
import { MomentView } from './MomentView'
import { TransferHistory } from './TransferHistory'
import './audit.css'

const route = getRouteApi('/pages/audit')

/** What happened, who did it, what it was like then, and whether the log is still what it was. */
export function AuditPage() {
  const text = useText()
  const { view = 'story' } = route.useSearch()
  const navigate = route.useNavigate()
  const views = [
    { id: 'story', label: text('audit.view.story'), content: <TransferHistory /> },
    { id: 'moment', label: text('audit.view.moment'), content: <MomentView /> },
    { id: 'actions', label: text('audit.view.actions'), content: <Actions /> },
    { id: 'integrity', label: text('audit.view.integrity'), content: <Integrity /> },
    { id: 'export', label: text('audit.view.export'), content: <Export /> },
  ]
  return (
    <Page title={text('audit.title')}>
      <Tabs
        label={text('audit.views')}
        items={views}
        selected={views.some(({ id }) => id === view) ? view : 'story'}
        onSelect={(id) => {
          if (id !== view) void navigate({ search: ({ merchantId }) => ({ merchantId, view: id }) })
        }}
      />
    </Page>
  )
}
