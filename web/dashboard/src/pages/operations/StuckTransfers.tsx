import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { StuckItem } from '../../../../../src/http/dashboard/operations/operations-api'
import { useMerchant, useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Time } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'
import { stuckQuery } from './operations-queries'

const firstRows = 15

/** Lists transfers that have waited for too long, oldest first, with the next step for each. */
export function StuckTransfers() {
  const text = useText()
  const merchantId = useMerchant()
  const navigate = useNavigate()
  const columns = useColumns()
  const [shownRows, setShownRows] = useState(firstRows)
  const query = useQuery(stuckQuery)
  return (
    <Card id="operations-stuck" title={text('operations.stuck')}>
      <Loaded query={query}>
        {({ items }) => {
          const rows = items.filter((item) => merchantId === undefined || item.merchantId === merchantId)
          return (
            <DataTable
              label={text('operations.stuck')}
              columns={columns}
              rows={rows.slice(0, shownRows)}
              {...(rows.length > shownRows && { more: { onMore: () => setShownRows(rows.length), pending: false } })}
              rowId={({ trackingId }) => trackingId}
              onOpen={({ trackingId }) => void navigate({ to: '/transfers/$trackingId', params: { trackingId } })}
              empty={<Empty title={text('operations.nothingStuck')}>{text('operations.nothingStuckHelp')}</Empty>}
            />
          )
        }}
      </Loaded>
    </Card>
  )
}

function useColumns(): readonly Column<StuckItem>[] {
  const text = useText()
  const merchantName = useMerchantName()
  return [
    { id: 'since', header: text('operations.since'), card: 'end', cell: ({ since }) => <Time at={since} /> },
    { id: 'transfer', header: text('fields.transfer'), card: 'name', cell: (item) => <TransferLink {...item} /> },
    { id: 'kind', header: text('fields.kind'), card: 'status', cell: ({ kind }) => text(`common.kind.${kind}`) },
    {
      id: 'amount',
      header: text('fields.amountMinor'),
      align: 'end',
      card: 'title',
      cell: ({ amountMinor }) => <Amount minor={amountMinor} />,
    },
    {
      id: 'why',
      header: text('fields.reason'),
      wide: true,
      card: 'under',
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
