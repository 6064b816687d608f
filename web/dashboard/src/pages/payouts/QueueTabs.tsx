import { Link } from '@tanstack/react-router'
import { type PayoutTab, payoutTabs } from '../../../../../src/domain/transfer/payout-queue'
import type { PayoutQueueResponse } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import '../../components/Tabs.css'

interface QueueTabsProps {
  readonly tab: PayoutTab
  /** The counts, once they are fetched. */
  readonly tabs: PayoutQueueResponse['tabs'] | undefined
  /** Newer withdrawals are not counted. */
  readonly uncounted: boolean
  readonly canApprove: boolean
}

export function QueueTabs({ tab, tabs, uncounted, canApprove }: QueueTabsProps) {
  const text = useText()
  const offered = payoutTabs.filter((each) => each !== 'approval' || canApprove)
  return (
    <nav className="Tabs-list" aria-label={text('payouts.tabs')}>
      {offered.map((each) => {
        const count = tabs?.find((counted) => counted.tab === each)?.count
        return (
          <Link
            key={each}
            to="/pay"
            search={(previous) => ({ ...previous, tab: each === 'all' ? undefined : each, sheet: undefined })}
            activeOptions={{ exact: true }}
            replace
            resetScroll={false}
            aria-current={each === tab ? 'page' : undefined}
            className="Tabs-tab"
          >
            {text(`payouts.tab.${each}`)}
            <span className="Count">
              {count !== undefined && text(uncounted ? 'common.countOrMore' : 'common.count', { count })}
            </span>
          </Link>
        )
      })}
    </nav>
  )
}
