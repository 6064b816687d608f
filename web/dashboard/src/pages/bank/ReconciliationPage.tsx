import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { BankDay } from '../../../../../src/http/dashboard/bank/bank-api'
import { usePages } from '../../api/use-pages'
import { useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { Button } from '../../components/Button'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { StatementPeriod } from '../statement/StatementPeriod'
import { type Days, daysOf } from '../statement/statement-days'
import { ReconciliationTable } from './ReconciliationTable'
import { byAccount } from './reconciliation-days'

const route = getRouteApi('/pages/reconciliation')
const pageSize = 100

/** Shows the booked amounts of each account and day, and how much of them is used, explained or open. */
export function ReconciliationPage() {
  const text = useText()
  const { currency } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const [openedMs] = useState(() => Date.now())
  const days = daysOf(search, openedMs)
  const question = { ...days, limit: pageSize }
  const { items, query, more } = usePages<BankDay>(['bank-days', question], '/bank/days', question)
  const change = (next: Days) => void navigate({ search: (previous) => ({ ...previous, ...next }) })
  return (
    <Page
      title={text('bank.reconciliation')}
      actions={<Button onPress={() => window.print()}>{text('common.print')}</Button>}
    >
      <StatementPeriod days={days} nowMs={openedMs} onChange={change} />
      <p className="print-only">{text('statement.printed', { ...days, now: new Date() })}</p>
      <Loaded query={query}>
        {() =>
          items.length === 0 ? (
            <Empty title={text('bank.noDays')}>{text('statement.emptyHelp')}</Empty>
          ) : (
            byAccount(items).map(([accountId, own]) => (
              <section key={accountId} className="stack">
                <h2>
                  <AccountNumber account={accountId} />
                </h2>
                <ReconciliationTable accountId={accountId} days={own} isComplete={more === undefined} />
              </section>
            ))
          )
        }
      </Loaded>
      {more && (
        <div>
          <Button onPress={more.onMore} pending={more.pending}>
            {text('common.loadMore')}
          </Button>
        </div>
      )}
      <p className="muted">{text('bank.reconciliationHelp', { currency: currency.code })}</p>
    </Page>
  )
}
