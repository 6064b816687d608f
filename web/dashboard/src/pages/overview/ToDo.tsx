import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { OverviewAnswer } from '../../api/contract'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { CappedCount } from '../../components/CappedCount'

/** Shows what needs attention, each with a link to the list. */
export function ToDo({ answer }: { answer: OverviewAnswer }) {
  const text = useText()
  return (
    <ul className="OverviewPage-todo">
      <Item label={text('overview.attention')} count={answer.needingAttention}>
        <Link to="/deposits" search={{ attention: 'open' }}>
          {text('overview.viewDeposits')}
        </Link>
      </Item>
      <Item label={text('overview.inOldBankFiles')} count={answer.inOldBankFiles}>
        <Link to="/withdrawals" search={{ status: 'Pending', sort: 'oldest' }}>
          {text('overview.viewWithdrawals')}
        </Link>
      </Item>
      <Item label={text('overview.failing')} count={answer.failingEndpoints}>
        <Link to="/callbacks">{text('overview.viewCallbacks')}</Link>
      </Item>
      <Item label={text('operations.parked')} count={answer.parkedCallbacks}>
        <Link to="/callbacks" search={{ status: 'parked' }}>
          {text('overview.viewCallbacks')}
        </Link>
      </Item>
    </ul>
  )
}

function Item({ label, count, children }: { label: string; count: number; children: ReactNode }) {
  const text = useText()
  return (
    <li className="OverviewPage-item" data-urgent={count > 0 || undefined}>
      <span className="muted">{label}</span>
      <strong className="OverviewPage-figure">
        <CappedCount count={count} />
      </strong>
      {count === 0 ? <Badge tone="good">{text('overview.allClear')}</Badge> : children}
    </li>
  )
}
