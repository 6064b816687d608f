import { timelineFields } from '../../../../../src/domain/event-summary'
import type { StoryItem } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useKnownText, useText } from '../../app/texts'
import { EventValue } from '../../components/EventValue'
import { Time } from '../../components/Time'

export function TimelineEntry({ item }: { item: StoryItem }) {
  const text = useText()
  const known = useKnownText()
  const actorName = useActorName()
  const { shown, rest } = timelineFields(item)
  return (
    <li className="Timeline-entry" data-source={item.source} data-tone={toneOf(item)}>
      <div className="Timeline-head">
        <strong>{known(`events.${item.type}`) ?? item.type}</strong>
        <span className="muted">
          <bdi>{actorName(item.actor)}</bdi>
          {' · '}
          <Time at={item.at} exact />
        </span>
      </div>
      {shown.length > 0 && (
        <dl className="Timeline-facts">
          {shown.map(([name, value]) => (
            <div key={name}>
              <dt>{known(`fields.${name}`) ?? name}</dt>
              <dd>
                <EventValue name={name} value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      <details className="Timeline-rest screen-only">
        <summary>{text('transfer.allFields')}</summary>
        <dl className="Timeline-facts">
          {[...rest, ['correlationId', item.correlationId] as const].map(([name, value]) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
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

function toneOf({ type }: StoryItem): 'good' | 'bad' | undefined {
  if (type === 'CallbackDelivered' || type === 'TransferCompleted') return 'good'
  return type === 'CallbackAttemptFailed' || type === 'CallbackParked' || type === 'TransferFailed' ? 'bad' : undefined
}
