import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/api-client'
import type { StuckAnswer, StuckItem } from '../../api/contract'
import { useMerchant, useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Badge } from '../../components/Badge'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { useDuration } from '../../components/Duration'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Time } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'

const firstRows = 15

/** Lists transfers that have waited for too long, oldest first, with the next step for each. */
export function StuckTransfers() {
  const text = useText()
  const merchantId = useMerchant()
  const navigate = useNavigate()
  const columns = useColumns()
  const [shownRows, setShownRows] = useState(firstRows)
  const query = useQuery({
    queryKey: ['stuck'],
    queryFn: ({ signal }) => api.get<StuckAnswer>('/operations/stuck', {}, signal),
    refetchInterval: 30_000,
  })
  return (
    <Card title={text('operations.stuck')}>
      <Loaded query={query}>
        {({ items, reasons }) => {
          const rows = items.filter((item) => merchantId === undefined || item.merchantId === merchantId)
          return (
            <>
              <Reasons reasons={reasons} />
              <DataTable
                label={text('operations.stuck')}
                columns={columns}
                rows={rows.slice(0, shownRows)}
                {...(rows.length > shownRows && { more: { onMore: () => setShownRows(rows.length), pending: false } })}
                rowId={({ trackingId }) => trackingId}
                onOpen={({ trackingId }) => void navigate({ to: '/transfers/$trackingId', params: { trackingId } })}
                empty={<Empty title={text('operations.nothingStuck')}>{text('operations.nothingStuckHelp')}</Empty>}
              />
            </>
          )
        }}
      </Loaded>
    </Card>
  )
}

function Reasons({ reasons }: Pick<StuckAnswer, 'reasons'>) {
  const text = useText()
  const duration = useDuration()
  return (
    <ul className="Operations-reasons">
      {reasons.map(({ reason, afterMinutes, count, more }) => (
        <li key={reason}>
          <Badge tone={count === 0 ? 'good' : 'person'}>
            {text(more ? 'common.countOrMore' : 'common.count', { count })}
          </Badge>{' '}
          {text(`operations.stuck.${reason}`)}{' '}
          {afterMinutes > 0 && (
            <span className="muted small">
              {text('operations.stuckAfter', { time: duration(afterMinutes * 60_000) })}
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

function useColumns(): readonly Column<StuckItem>[] {
  const text = useText()
  const merchantName = useMerchantName()
  return [
    { id: 'since', header: text('operations.since'), cell: ({ since }) => <Time at={since} /> },
    { id: 'transfer', header: text('fields.transfer'), cell: (item) => <TransferLink {...item} /> },
    { id: 'kind', header: text('fields.kind'), cell: ({ kind }) => text(`common.kind.${kind}`) },
    {
      id: 'amount',
      header: text('fields.amountMinor'),
      align: 'end',
      cell: ({ amountMinor }) => <Amount minor={amountMinor} />,
    },
    {
      id: 'why',
      header: text('fields.reason'),
      wide: true,
      cell: ({ reason, steps }) => (
        <>
          {text(`operations.stuck.${reason}`)}
          {steps > 0 && <span className="muted small"> {text('operations.steps', { steps })}</span>}
        </>
      ),
    },
    { id: 'next', header: text('operations.next'), wide: true, cell: ({ next }) => text(`operations.next.${next}`) },
    {
      id: 'merchant',
      header: text('fields.merchantId'),
      cell: ({ merchantId }) => <bdi>{merchantName(merchantId)}</bdi>,
    },
  ]
}
