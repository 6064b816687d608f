import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { OverviewAnswer } from '../../api/contract'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { CappedCount } from './CappedCount'

/** What a person should look at, each with the list to look at it in. */
export function ToDo({ answer }: { answer: OverviewAnswer }) {
  const text = useText()
  return (
    <ul className="OverviewPage-todo">
      <Item label={text('overview.attention')} count={answer.needingAttention}>
        <Link to="/deposits" search={{ attention: 'open' }}>
          {text('overview.attentionList')}
        </Link>
      </Item>
      <Item label={text('overview.failing')} count={answer.failingEndpoints}>
        <Link to="/callbacks">{text('overview.failingList')}</Link>
      </Item>
      <Item label={text('overview.parked')} count={answer.parkedCallbacks}>
        <Link to="/callbacks" search={{ status: 'parked' }}>
          {text('overview.parkedList')}
        </Link>
      </Item>
    </ul>
  )
}

function Item({ label, count, children }: { label: string; count: number; children: ReactNode }) {
  const text = useText()
  return (
    <li className="OverviewPage-item" data-waits={count > 0 || undefined}>
      <span className="muted">{label}</span>
      <strong className="OverviewPage-figure">
        <CappedCount count={count} />
      </strong>
      {count === 0 ? <Badge tone="good">{text('overview.nothingToDo')}</Badge> : children}
    </li>
  )
}
