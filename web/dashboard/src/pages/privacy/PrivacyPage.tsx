import { useMay } from '../../app/session'
import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { Customer } from './Customer'
import { Status } from './Status'
import './privacy.css'

/** What is kept of customers, what one of them may ask for, and how it is forgotten. */
export function PrivacyPage() {
  const text = useText()
  const mayManage = useMay('privacy:manage')
  return (
    <Page title={text('privacy.title')}>
      <div className="Privacy-columns">
        <Status />
        {mayManage && <Customer />}
      </div>
    </Page>
  )
}
