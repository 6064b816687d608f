import type { EndpointItem } from '../../api/contract'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Time } from '../../components/Time'
import './CallbacksPage.css'

const tones = { answering: 'good', failing: 'person', disabled: 'bad' } as const

export function EndpointHealth({ endpoint }: { readonly endpoint: EndpointItem }) {
  const text = useText()
  const { state, failingSince, reason } = endpoint
  return (
    <div className="EndpointList-state">
      <Badge tone={tones[state]}>{text(`callbacks.health.${state}`)}</Badge>
      {failingSince !== null && (
        <span className="muted">
          {text('callbacks.failingSince')} <Time at={failingSince} />
        </span>
      )}
      {reason !== null && <bdi className="muted">{reason}</bdi>}
    </div>
  )
}
