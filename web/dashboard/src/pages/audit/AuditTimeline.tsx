import type { AuditStoryItem } from '../../api/contract'
import { useActorName } from '../../app/actor-names'
import { useEventName } from '../../app/event-names'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Empty } from '../../components/Empty'
import { EventValue } from '../../components/EventValue'
import { Time } from '../../components/Time'
import { useFieldName } from './field-names'
import { isTime } from './point-in-time'
import '../../components/Timeline.css'

interface TimelineProps {
  readonly items: readonly AuditStoryItem[]
  readonly at: string | undefined
  readonly onSelect: (position: string) => void
}

export function AuditTimeline({ items, at, onSelect }: TimelineProps) {
  const text = useText()
  if (items.length === 0) return <Empty title={text('audit.noHistory')} />
  return (
    <ol className="Timeline">
      {items.map((item) => (
        <Entry key={`${item.stream}@${item.revision}`} item={item} at={at} onSelect={onSelect} />
      ))}
    </ol>
  )
}

function Entry({ item, at, onSelect }: Omit<TimelineProps, 'items'> & { readonly item: AuditStoryItem }) {
  const text = useText()
  const eventName = useEventName()
  const fieldName = useFieldName()
  const actorName = useActorName()
  const { type, source, position, stream, revision } = item
  const fields = Object.entries(item.data).filter(([, value]) => value !== null)
  return (
    <li className="Timeline-entry" data-source={source} data-later={isLater(item, at) || undefined}>
      <div className="Timeline-head">
        <span className="row">
          <strong>{eventName(type)}</strong>
          <Badge tone="off">{text(`audit.source.${source}`)}</Badge>
        </span>
        <span className="muted">
          <bdi>{actorName(item.actorName)}</bdi>
          {' · '}
          <Time at={item.at} exact />
        </span>
      </div>
      <div className="row small">
        <code className="muted">{`${stream}@${revision}`}</code>
        <Button
          look="quiet"
          className="Audit-select"
          aria-current={position === at ? 'step' : false}
          aria-label={text('audit.stateAfterEvent', { event: `${stream}@${revision}` })}
          onPress={() => onSelect(position)}
        >
          {text('audit.stateAfter')}
        </Button>
      </div>
      <details className="Timeline-rest">
        <summary>{text('transfer.allFields')}</summary>
        <dl className="Timeline-facts">
          {[
            ...fields,
            ['recordedAt', item.recordedAt] as const,
            ['position', position] as const,
            ['actor', item.actor] as const,
            ['correlationId', item.correlationId] as const,
          ].map(([name, value]) => (
            <div key={name}>
              <dt>{fieldName(name)}</dt>
              <dd>
                <EventValue name={name} value={value} />
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </li>
  )
}

/** Returns whether an event comes after `at`, which is a time or a log position. */
function isLater({ recordedAt, position }: AuditStoryItem, at: string | undefined): boolean {
  if (at === undefined) return false
  if (isTime(at)) return Date.parse(recordedAt) > Date.parse(at)
  return /^\d+$/.test(at) && /^\d+$/.test(position) && BigInt(position) > BigInt(at)
}
