import type { StoryItem, TransferDetail } from '../../../../../src/http/dashboard/api'
import { useKnownText, useText } from '../../app/texts'
import { Card } from '../../components/Card'
import { peopleOf } from './transfer-story'

/** Shows the customer and the users who took part. */
export function TransferPeople({ detail, items }: { detail: TransferDetail; items: readonly StoryItem[] }) {
  const text = useText()
  const known = useKnownText()
  return (
    <Card title={text('transfer.people')}>
      <ul className="TransferPeople">
        <Person name={detail.name} under={detail.userId} did={text(`transfer.customer.${detail.kind}`)} />
        {peopleOf(items).map(({ name, did }) => (
          <Person key={name} name={name} did={known(`events.${did}`) ?? did} />
        ))}
      </ul>
    </Card>
  )
}

function Person({ name, under, did }: { readonly name: string; readonly under?: string; readonly did: string }) {
  const initials = name
    .split(/\s+/)
    .filter(Boolean)
    .map((part) => [...part][0]?.toLocaleUpperCase())
  return (
    <li>
      <span className="TransferPeople-mark" aria-hidden>
        {[initials[0], initials.length > 1 ? initials.at(-1) : ''].join('')}
      </span>
      <span className="TransferPeople-name">
        <bdi>{name}</bdi>
        {under !== undefined && <bdi className="faint small">{under}</bdi>}
      </span>
      <span className="faint small">{did}</span>
    </li>
  )
}
