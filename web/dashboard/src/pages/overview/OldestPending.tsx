import { useNavigate } from '@tanstack/react-router'
import type { TransferRow } from '../../api/contract'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Time } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'

export function OldestPending({ rows }: { rows: readonly TransferRow[] }) {
  const text = useText()
  const navigate = useNavigate()
  const nameOf = useMerchantName()
  const columns: Column<TransferRow>[] = [
    { id: 'created', header: text('fields.createdAt'), cell: ({ createdAt }) => <Time at={createdAt} /> },
    { id: 'kind', header: text('fields.kind'), cell: ({ kind }) => text(`common.kind.${kind}`) },
    { id: 'reference', header: text('fields.referenceId'), cell: (row) => <TransferLink {...row} /> },
    { id: 'merchant', header: text('fields.merchantId'), cell: ({ merchantId }) => nameOf(merchantId) },
    { id: 'name', header: text('fields.name'), cell: ({ name }) => name },
    {
      id: 'amount',
      header: text('fields.amountMinor'),
      align: 'end',
      cell: ({ amountMinor }) => <Amount minor={amountMinor} />,
    },
  ]
  return (
    <Card title={text('overview.oldestPending')}>
      <DataTable
        label={text('overview.oldestPending')}
        columns={columns}
        rows={rows}
        rowId={({ trackingId }) => trackingId}
        onOpen={({ trackingId }) => void navigate({ to: '/transfers/$trackingId', params: { trackingId } })}
        empty={<Empty title={text('overview.nothingPending')} />}
      />
    </Card>
  )
}
