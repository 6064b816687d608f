import type { EndpointItem } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Time } from '../../components/Time'
import './CallbacksPage.css'

/** Shows faults only: a healthy endpoint has no badge. */
export function EndpointHealth({ endpoint }: { readonly endpoint: EndpointItem }) {
  const text = useText()
  const { state, failingSince, reason } = endpoint
  if (state === 'healthy') return null
  return (
    <>
      <Badge tone={state === 'failing' ? 'bad' : 'off'}>
        {state === 'failing' && failingSince !== null ? (
          <>
            {text('callbacks.failingSince')} <Time at={failingSince} />
          </>
        ) : (
          text(`callbacks.health.${state}`)
        )}
      </Badge>
      {reason !== null && (
        <bdi className="muted small" lang="en">
          {reason}
        </bdi>
      )}
    </>
  )
}
