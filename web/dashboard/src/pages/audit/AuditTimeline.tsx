import { hasValue } from '../../../../../src/domain/event-summary'
import type { AuditStoryItem } from '../../../../../src/http/dashboard/audit/audit-api'
import { useActorName } from '../../app/actor-names'
import { useEventName } from '../../app/event-names'
import { useText } from '../../app/texts'
import { Flag } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Empty } from '../../components/Empty'
import { Time } from '../../components/Time'
import type { ChangedField } from './changed-fields'
import { FieldValue, useFieldName } from './field-names'
import { isTime } from './point-in-time'
import '../../components/Timeline.css'

interface TimelineProps {
  readonly items: readonly AuditStoryItem[]
  readonly changes: ReadonlyMap<string, readonly ChangedField[]>
  readonly at: string | undefined
  readonly onSelect: (position: string) => void
}

/** Shows the events of a transfer, with what each changed. Runs of events of other streams are folded. */
export function AuditTimeline({ items, ...props }: TimelineProps) {
  const text = useText()
  if (items.length === 0) return <Empty title={text('audit.noHistory')} />
  return (
    <ol className="Timeline AuditTimeline">
      {runsOf(items).map((run) => {
        const [first] = run
        const entries = run.map((item) => <Entry key={`${item.stream}@${item.revision}`} item={item} {...props} />)
        if (!isFolded(first!) || run.length === 1) return entries
        return (
          <li key={`${first!.stream}@${first!.revision}`} className="Timeline-entry">
            <details open={run.some(({ position }) => position === props.at)}>
              <summary>{text('audit.folded', { count: run.length, source: first!.source })}</summary>
              <ol className="Timeline">{entries}</ol>
            </details>
          </li>
        )
      })}
    </ol>
  )
}

function isFolded({ source }: AuditStoryItem): boolean {
  return source === 'callback' || source === 'merchant'
}

/** Groups neighbouring events of the same kind of folded stream. */
function runsOf(items: readonly AuditStoryItem[]): readonly (readonly AuditStoryItem[])[] {
  const runs: AuditStoryItem[][] = []
  for (const item of items) {
    const last = runs.at(-1)
    if (last && isFolded(item) && last[0]!.source === item.source) last.push(item)
    else runs.push([item])
  }
  return runs
}

const maxShownChanges = 6

function Entry({ item, changes, at, onSelect }: Omit<TimelineProps, 'items'> & { readonly item: AuditStoryItem }) {
  const text = useText()
  const eventName = useEventName()
  const fieldName = useFieldName()
  const actorName = useActorName()
  const { type, source, position, stream, revision } = item
  const fields = Object.entries(item.data).filter(([name, value]) => hasValue(name, value))
  const changed = changes.get(position) ?? []
  // The first event sets every field, of which the status and the amount matter.
  const shown =
    revision === 0 ? changed.filter(({ name }) => firstFields.includes(name)) : changed.slice(0, maxShownChanges)
  return (
    <li
      className="Timeline-entry"
      data-source={source}
      data-later={isLater(item, at) || undefined}
      data-chosen={position === at || undefined}
    >
      <div className="Timeline-head">
        <span className="row">
          <strong>{eventName(type)}</strong>
          {source !== 'transfer' && <Flag>{text(`audit.source.${source}`)}</Flag>}
        </span>
        <span className="muted small">
          <Time at={item.at} exact />
        </span>
      </div>
      <div className="spread small">
        <bdi className="muted">{actorName(item.actorName)}</bdi>
        <Button
          look="quiet"
          small
          className="Audit-select"
          aria-current={position === at ? 'step' : false}
          aria-label={text('audit.stateAfterEvent', { event: `${stream}@${revision}` })}
          onPress={() => onSelect(position)}
        >
          {text('audit.stateAfter')}
        </Button>
      </div>
      {shown.length > 0 && (
        <dl className="Audit-changes">
          {shown.map(({ name, before, after }) => (
            <div key={name}>
              <dt>{fieldName(name)}</dt>
              <dd>
                {before !== undefined && (
                  <>
                    <del>
                      <FieldValue name={name} value={before} />
                    </del>{' '}
                    <span aria-hidden="true">→</span>{' '}
                  </>
                )}
                <ins>{after === undefined ? text('common.none') : <FieldValue name={name} value={after} />}</ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <details className="Timeline-rest">
        <summary>
          {changed.length > shown.length
            ? text('audit.moreFields', { count: changed.length - shown.length })
            : text('transfer.allFields')}
        </summary>
        <dl className="Timeline-facts">
          {[
            ...fields,
            ['recordedAt', item.recordedAt] as const,
            ['event', `${stream}@${revision}`] as const,
            ['position', position] as const,
            ['actor', item.actor] as const,
            ['correlationId', item.correlationId] as const,
          ].map(([name, value]) => (
            <div key={name}>
              <dt>{fieldName(name)}</dt>
              <dd>
                <FieldValue name={name} value={value} />
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </li>
  )
}

const firstFields: readonly string[] = ['status', 'amountMinor', 'expiresAt', 'referenceId']

/** Returns whether an event comes after `at`, which is a time or a log position. */
function isLater({ recordedAt, position }: AuditStoryItem, at: string | undefined): boolean {
  if (at === undefined) return false
  if (isTime(at)) return Date.parse(recordedAt) > Date.parse(at)
  return /^\d+$/.test(at) && /^\d+$/.test(position) && BigInt(position) > BigInt(at)
}
