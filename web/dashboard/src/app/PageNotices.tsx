import { useIntl } from 'react-intl'
import { tryNow, useConnection } from '../api/connection'
import { Button, ButtonLink } from '../components/Button'
import { exactTime, Time } from '../components/Time'
import { usePermission } from './current-session'
import { useStale } from './freshness'
import { PayoutsStopped } from './PayoutsStopped'
import { useText } from './texts'

/** Lines across the page, above its content: payouts are stopped, the connection is lost, or the shown rows are old. */
export function PageNotices() {
  return (
    <>
      <PayoutsStopped />
      <ConnectionLost />
      <StaleRows />
    </>
  )
}

function ConnectionLost() {
  const text = useText()
  const intl = useIntl()
  const { isLost, lastResponseAt } = useConnection()
  if (!isLost) return null
  return (
    <output className="PageNotice PageNotice-off">
      <strong>{text('shell.noConnection')}</strong>
      <span>{text('shell.noConnectionHelp', { at: exactTime(intl, new Date(lastResponseAt).toISOString()) })}</span>
      <Button onPress={tryNow}>{text('shell.tryNow')}</Button>
    </output>
  )
}

function StaleRows() {
  const text = useText()
  const canReadOperations = usePermission('operations:read')
  const [oldest] = useStale()
  if (!oldest) return null
  const { state, since } = oldest
  return (
    <output className="PageNotice PageNotice-person">
      <strong>
        {text(state === 'paused' ? 'shell.rowsPaused' : state === 'failed' ? 'shell.rowsFailed' : 'shell.rowsBehind')}
      </strong>
      <span>
        {text('shell.rowsOld')} {since !== null && <Time at={since} />}
      </span>
      {canReadOperations && <ButtonLink to="/operations">{text('operations.title')}</ButtonLink>}
    </output>
  )
}
