import { ButtonLink } from '../components/Button'
import { usePermission } from './current-session'
import { usePayoutsStopped } from './payouts-stopped-query'
import { useText } from './texts'
import './PayoutsStopped.css'

/** Shown above every page, with a link to the reason for users who have access to it. */
export function PayoutsStopped() {
  const text = useText()
  const canReadDetails = usePermission('audit:read')
  if (!usePayoutsStopped()) return null
  return (
    <div className="PayoutsStopped" role="alert">
      <strong>{text('shell.payoutsStopped')}</strong>
      <span>{text('shell.payoutsStoppedHelp')}</span>
      {canReadDetails && (
        <ButtonLink to="/audit" search={{ view: 'integrity' }}>
          {text('shell.viewDetails')}
        </ButtonLink>
      )}
    </div>
  )
}
