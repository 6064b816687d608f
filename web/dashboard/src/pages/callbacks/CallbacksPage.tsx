import { getRouteApi } from '@tanstack/react-router'
import { useSession } from '../../app/current-session'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { Tabs } from '../../components/Tabs'
import { CallbackList } from './CallbackList'
import { EndpointList } from './EndpointList'
import { LiveCallbacks } from './LiveCallbacks'
import './CallbacksPage.css'

const route = getRouteApi('/pages/callbacks')

/** Shows the live view only to users of a sandbox merchant, because only sandbox merchants have a stream of callbacks. */
export function CallbacksPage() {
  const text = useText()
  const merchantId = useMerchant()
  const { view } = route.useSearch()
  const navigate = route.useNavigate()
  const sandboxes = useSession().merchants.filter(({ sandbox }) => sandbox)
  const heard = sandboxes.find((each) => merchantId === undefined || each.merchantId === merchantId)
  const all = (
    <>
      <EndpointList merchantId={merchantId} />
      <CallbackList key={merchantId} merchantId={merchantId} />
    </>
  )
  return (
    <Page title={text('callbacks.title')}>
      {heard === undefined ? (
        all
      ) : (
        <Tabs
          label={text('transfers.views')}
          items={[
            { id: 'all', label: text('callbacks.title'), content: all },
            {
              id: 'live',
              label: text('common.live.live'),
              content: <LiveCallbacks key={heard.merchantId} merchantId={heard.merchantId} merchants={sandboxes} />,
            },
          ]}
          selected={view === 'live' ? view : 'all'}
          onSelect={(id) => {
            const next = id === 'live' ? id : undefined
            if (next !== view)
              void navigate({ search: (previous) => ({ merchantId: previous.merchantId, view: next }) })
          }}
        />
      )}
    </Page>
  )
}
