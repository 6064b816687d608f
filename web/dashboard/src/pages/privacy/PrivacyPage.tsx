import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { CustomerRequests } from './CustomerRequests'
import { PrivacyStatusCard } from './PrivacyStatusCard'
import './PrivacyPage.css'

/** Shows the stored personal data, and exports or erases the data of a customer. */
export function PrivacyPage() {
  const text = useText()
  const canManage = usePermission('privacy:manage')
  return (
    <Page title={text('privacy.title')}>
      <div className="Privacy-columns">
        <PrivacyStatusCard />
        {canManage && <CustomerRequests />}
      </div>
    </Page>
  )
}
