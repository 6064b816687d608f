import { Link } from '@tanstack/react-router'
import { FormattedNumber } from 'react-intl'
import type { Kind, OverviewResponse } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { CappedCount } from '../../components/CappedCount'
import { Duration } from '../../components/Duration'
import { Facts } from '../../components/Facts'

interface KindFactsProps {
  readonly kind: Kind
  readonly response: OverviewResponse
  readonly rate: number | null
}

export function KindFacts({ kind, response, rate }: KindFactsProps) {
  const text = useText()
  const time = response.timeToCompletion.find((each) => each.kind === kind)
  const pending = response.pending[kind]
  const items = [
    {
      label: text('overview.completionRate'),
      value:
        rate === null ? (
          text('overview.noneEnded')
        ) : (
          <FormattedNumber value={rate} style="percent" maximumFractionDigits={1} />
        ),
    },
    { label: text('overview.medianTime'), value: <Duration ms={time?.medianMs ?? null} /> },
    { label: text('overview.p95Time'), value: <Duration ms={time?.p95Ms ?? null} /> },
    {
      label: text('overview.pendingNow'),
      value: (
        <Link to={kind === 'deposit' ? '/deposits' : '/withdrawals'} search={{ status: 'Pending', sort: 'oldest' }}>
          <CappedCount count={pending} />
        </Link>
      ),
    },
  ]
  return <Facts items={items} />
}
