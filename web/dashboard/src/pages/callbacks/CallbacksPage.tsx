import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { CallbackList } from './CallbackList'
import { EndpointList } from './EndpointList'
import './CallbacksPage.css'

export function CallbacksPage() {
  const text = useText()
  const merchantId = useMerchant()
  return (
    <Page title={text('callbacks.title')}>
      <EndpointList merchantId={merchantId} />
      <CallbackList key={merchantId} merchantId={merchantId} />
    </Page>
  )
}
