import { useMay } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { CustomerRequests } from './CustomerRequests'
import { PrivacyStatusCard } from './PrivacyStatusCard'
import './PrivacyPage.css'

/** What is kept of customers, what one of them may ask for, and how it is forgotten. */
export function PrivacyPage() {
  const text = useText()
  const mayManage = useMay('privacy:manage')
  return (
    <Page title={text('privacy.title')}>
      <div className="Privacy-columns">
        <PrivacyStatusCard />
        {mayManage && <CustomerRequests />}
      </div>
    </Page>
  )
}
