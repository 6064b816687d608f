import { ButtonLink } from '../components/Button'
import { useMay } from './current-session'
import { usePayoutsStopped } from './payouts-stopped-query'
import { useText } from './texts'
import './PayoutsStopped.css'

/** Above every page: whoever pays must know why they cannot, and whoever can look into it where to. */
export function PayoutsStopped() {
  const text = useText()
  const mayLook = useMay('audit:read')
  if (!usePayoutsStopped()) return null
  return (
    <div className="PayoutsStopped" role="alert">
      <strong>{text('shell.payoutsStopped')}</strong>
      <span>{text('shell.payoutsStoppedHelp')}</span>
      {mayLook && (
        <ButtonLink to="/audit" search={{ view: 'integrity' }}>
          {text('shell.payoutsStoppedLook')}
        </ButtonLink>
      )}
    </div>
  )
}
