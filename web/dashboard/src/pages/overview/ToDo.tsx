import { Link, type LinkProps } from '@tanstack/react-router'
import { ChevronRight, CircleCheck } from 'lucide-react'
import type { OverviewResponse } from '../../../../../src/http/dashboard/api'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { CappedCount } from '../../components/CappedCount'
import { Time } from '../../components/Time'

interface Task {
  readonly label: string
  readonly count: number
  /** The creation of the oldest. */
  readonly since?: string | null
  readonly tone: 'person' | 'second' | 'bad'
  readonly link: Pick<LinkProps, 'to' | 'search'>
}

/** Shows what needs a person, each with a link to the list. Tasks without anything to do are omitted. */
export function ToDo({ response }: { response: OverviewResponse }) {
  const text = useText()
  const tasks = useTasks(response).filter(({ count }) => count > 0)
  if (tasks.length === 0) {
    return (
      <p className="OverviewPage-clear">
        <CircleCheck />
        {text('overview.allClear')}
      </p>
    )
  }
  return (
    <ul className="OverviewPage-todo">
      {tasks.map(({ label, count, since, tone, link }) => (
        <li key={label}>
          <Link {...link} className={`OverviewPage-task OverviewPage-task-${tone}`}>
            <strong>
              <CappedCount count={count} />
            </strong>
            <span>
              <span className="OverviewPage-what">{label}</span>
              {since && (
                <span className="OverviewPage-since">
                  {text('overview.longest')} <Time at={since} />
                </span>
              )}
            </span>
            <ChevronRight className="icon-14" />
          </Link>
        </li>
      ))}
    </ul>
  )
}

function useTasks(response: OverviewResponse): readonly Task[] {
  const text = useText()
  const canPay = usePermission('transfers:settle')
  const canApprove = usePermission('transfers:approve')
  const { awaitingApproval, inManualControl } = response
  const manual = { status: 'ManualControl', sort: 'oldest' }
  return [
    {
      label: text('overview.awaitingApproval'),
      ...awaitingApproval,
      tone: 'second',
      link: canPay
        ? { to: '/pay', ...(canApprove && { search: { tab: 'approval' } }) }
        : { to: '/withdrawals', search: { status: 'Pending', sort: 'oldest' } },
    },
    {
      label: text('overview.manual.withdrawal'),
      ...inManualControl.withdrawal,
      tone: 'person',
      link: { to: '/withdrawals', search: manual },
    },
    {
      label: text('overview.manual.deposit'),
      ...inManualControl.deposit,
      tone: 'person',
      link: { to: '/deposits', search: manual },
    },
    {
      label: text('overview.attention.deposit'),
      count: response.needingAttention.deposit,
      tone: 'person',
      link: { to: '/deposits', search: { attention: 'open' } },
    },
    {
      label: text('overview.attention.withdrawal'),
      count: response.needingAttention.withdrawal,
      tone: 'person',
      link: { to: '/withdrawals', search: { attention: 'open' } },
    },
    {
      label: text('overview.inOldBankFiles'),
      count: response.inOldBankFiles,
      tone: 'person',
      link: { to: '/withdrawals', search: { status: 'Pending', sort: 'oldest' } },
    },
    { label: text('overview.failing'), count: response.failingEndpoints, tone: 'bad', link: { to: '/callbacks' } },
    {
      label: text('operations.parked'),
      count: response.parkedCallbacks,
      tone: 'bad',
      link: { to: '/callbacks', search: { status: 'parked' } },
    },
  ]
}
