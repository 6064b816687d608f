import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { StatementResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useSession } from '../../app/current-session'
import { useMerchant, useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { CsvDownload } from '../../components/CsvDownload'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { Select } from '../../components/Select'
import { StatementPeriod } from './StatementPeriod'
import { StatementTable } from './StatementTable'
import { type Days, daysOf, periodOf } from './statement-days'

const route = getRouteApi('/pages/statement')

export function StatementPage() {
  const text = useText()
  const { merchants } = useSession()
  const chosen = useMerchant()
  const navigate = route.useNavigate()
  const merchantId = chosen ?? (merchants.length === 1 ? merchants[0]?.merchantId : undefined)
  if (merchantId !== undefined) return <MerchantStatement merchantId={merchantId} />
  return (
    <Page title={text('statement.title')}>
      <Empty title={text('statement.choose')}>
        <Select
          label={text('fields.merchantId')}
          options={merchants.map((each) => ({ value: each.merchantId, label: each.name }))}
          placeholder={text('common.chooseMerchant')}
          onChange={(next) => void navigate({ search: (previous) => ({ ...previous, merchantId: next }) })}
        />
      </Empty>
    </Page>
  )
}

function MerchantStatement({ merchantId }: { readonly merchantId: string }) {
  const text = useText()
  const merchantName = useMerchantName()
  const { currency } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const [openedMs] = useState(() => Date.now())
  const days = daysOf(search, openedMs)
  const range = { merchantId, ...periodOf(days) }
  const query = useQuery({
    queryKey: ['statement', range],
    queryFn: ({ signal }) => api.get<StatementResponse>('/statement', range, signal),
  })
  const change = (next: Days) => void navigate({ search: (previous) => ({ ...previous, ...next }) })
  return (
    <Page
      title={text('statement.title')}
      actions={
        <div className="row screen-only">
          <CsvDownload path="/statement" question={range} />
          <Button onPress={() => window.print()}>{text('common.print')}</Button>
        </div>
      }
    >
      <StatementPeriod days={days} nowMs={openedMs} onChange={change} />
      <p className="print-only">{text('statement.printed', { ...days, now: new Date() })}</p>
      <h2 className="Statement-merchant">
        <bdi>{merchantName(merchantId)}</bdi>
      </h2>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={text('statement.empty')}>{text('statement.emptyHelp')}</Empty>
          ) : (
            <StatementTable items={items} />
          )
        }
      </Loaded>
      <p className="muted">{text('statement.help', { currency: currency.code, timeZone: range.timeZone })}</p>
    </Page>
  )
}
