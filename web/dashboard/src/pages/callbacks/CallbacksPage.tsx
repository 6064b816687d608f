import { useMerchant } from '../../app/merchants'
import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { CallbackList } from './CallbackList'
import { Endpoints } from './Endpoints'
import './callbacks.css'

export function CallbacksPage() {
  const text = useText()
  const merchantId = useMerchant()
  return (
    <Page title={text('callbacks.title')}>
      <Endpoints merchantId={merchantId} />
      <CallbackList key={merchantId} merchantId={merchantId} />
    </Page>
  )
}
