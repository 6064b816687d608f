import { useNavigate } from '@tanstack/react-router'
import type { TransferRow } from '../../../../../src/http/dashboard/api'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Mark } from '../../components/Mark'
import { Time } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'

export function OldestPending({ rows }: { rows: readonly TransferRow[] }) {
  const text = useText()
  const navigate = useNavigate()
  const nameOf = useMerchantName()
  const columns: Column<TransferRow>[] = [
    {
      id: 'amount',
      header: text('fields.amountMinor'),
      align: 'end',
      card: 'title',
      cell: ({ amountMinor }) => (
        <strong>
          <Amount minor={amountMinor} />
        </strong>
      ),
    },
    {
      id: 'kind',
      header: text('fields.kind'),
      card: 'status',
      cell: ({ kind }) => <span className="muted">{text(`common.kind.${kind}`)}</span>,
    },
    { id: 'name', header: text('fields.name'), wide: true, card: 'name', cell: ({ name }) => <bdi>{name}</bdi> },
    {
      id: 'merchant',
      header: text('fields.merchantId'),
      from: 'room',
      cell: ({ merchantId }) => (
        <span className="row">
          <Mark name={nameOf(merchantId)} />
          {nameOf(merchantId)}
        </span>
      ),
    },
    { id: 'reference', header: text('fields.referenceId'), card: 'under', cell: (row) => <TransferLink {...row} /> },
    {
      id: 'created',
      header: text('fields.createdAt'),
      align: 'end',
      card: 'end',
      cell: ({ createdAt }) => <Time at={createdAt} />,
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
