import { useQuery } from '@tanstack/react-query'
import type { PrivacyStatusResponse } from '../../../../../src/http/dashboard/privacy/privacy-api'
import { api } from '../../api/api-client'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Card } from '../../components/Card'
import { DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Facts } from '../../components/Facts'
import { Loaded } from '../../components/Loaded'
import { Time } from '../../components/Time'

/** The server counts a part of the log per request, so it is queried often until the count is complete. */
const countingMs = 500
const quietMs = 60_000

export function PrivacyStatusCard() {
  const text = useText()
  const query = useQuery({
    queryKey: ['privacy-status'],
    queryFn: ({ signal }) => api.get<PrivacyStatusResponse>('/privacy/status', {}, signal),
    refetchInterval: ({ state }) => (state.data?.complete === false ? countingMs : quietMs),
  })
  return (
    <Card title={text('privacy.stored')}>
      <Loaded query={query}>{(status) => <Counted status={status} />}</Loaded>
    </Card>
  )
}

function Counted({ status }: { readonly status: PrivacyStatusResponse }) {
  const text = useText()
  const { customers, erasures, keysToDestroy, events, complete, countedTo } = status
  const count = (value: number) => text('common.count', { count: value })
  return (
    <>
      {!complete && (
        <output className="row">
          <Badge tone="wait">{text('privacy.counting')}</Badge>
          {countedTo !== null && (
            <span className="muted">
              {text('privacy.countedTo')} <Time at={countedTo} exact />
            </span>
          )}
        </output>
      )}
      <Facts
        items={[
          { label: text('privacy.customers'), value: count(customers) },
          { label: text('privacy.erased'), value: count(erasures) },
          { label: text('privacy.keysToDestroy'), value: keysToDestroy > 0 ? count(keysToDestroy) : undefined },
          { label: text('privacy.encrypted'), value: count(events.sealed) },
        ]}
      />
      <ByMerchant status={status} />
    </>
  )
}

function ByMerchant({ status: { byMerchant } }: { readonly status: PrivacyStatusResponse }) {
  const text = useText()
  const merchantName = useMerchantName()
  return (
    <DataTable
      label={text('privacy.byMerchant')}
      columns={[
        {
          id: 'merchant',
          header: text('fields.merchantId'),
          cell: ({ merchantId }) => <bdi>{merchantName(merchantId)}</bdi>,
        },
        {
          id: 'customers',
          header: text('privacy.customers'),
          align: 'end',
          cell: ({ customers }) => text('common.count', { count: customers }),
        },
      ]}
      rows={byMerchant}
      rowId={({ merchantId }) => merchantId}
      empty={<Empty title={text('privacy.noCustomers')} />}
    />
  )
}
