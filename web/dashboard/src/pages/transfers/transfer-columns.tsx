import type { Kind, TransferRow } from '../../api/contract'
import { useActorName } from '../../app/actor-names'
import { useSession } from '../../app/current-session'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Badge, StatusBadge } from '../../components/Badge'
import type { Column } from '../../components/DataTable'
import { Time } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'
import { leftMs } from '../paying/claim-time'
import type { Orders } from './list-search'

export function useColumns(kind: Kind, orders: Orders): readonly Column<TransferRow>[] {
  const columns = useAllColumns(orders)
  const { merchants } = useSession()
  const others = kind === 'deposit' ? ['accountNumber', 'claim'] : ['expires']
  const hidden = merchants.length === 1 ? [...others, 'merchant'] : others
  return columns.filter(({ id }) => !hidden.includes(id))
}

function useAllColumns({ byTime, byAmount }: Orders): readonly Column<TransferRow>[] {
  const text = useText()
  const merchantName = useMerchantName()
  const methodName = usePaymentMethodName()
  return [
    {
      id: 'created',
      header: text('fields.createdAt'),
      ...(byTime && { sort: { up: 'oldest', down: 'newest' } }),
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
    { id: 'status', header: text('fields.status'), cell: (row) => <StatusCell row={row} /> },
    { id: 'reference', header: text('fields.referenceId'), cell: (row) => <TransferLink {...row} /> },
    {
      id: 'amount',
      header: text('fields.amountMinor'),
      align: 'end',
      ...(byAmount && { sort: { up: 'smallest', down: 'largest' } }),
      cell: ({ amountMinor }) => <Amount minor={amountMinor} />,
    },
    {
      id: 'actualAmount',
      header: text('fields.transactionAmountMinor'),
      align: 'end',
      cell: (row) => <ActualAmount row={row} />,
    },
    { id: 'merchant', header: text('fields.merchantId'), cell: (row) => <bdi>{merchantName(row.merchantId)}</bdi> },
    { id: 'name', header: text('fields.name'), wide: true, cell: ({ name }) => <bdi>{name}</bdi> },
    {
      id: 'accountNumber',
      header: text('fields.accountNumber'),
      cell: ({ accountNumber }) => <bdi>{accountNumber}</bdi>,
    },
    { id: 'claim', header: text('fields.claim'), cell: (row) => <Claim row={row} /> },
    { id: 'method', header: text('fields.paymentMethod'), cell: ({ paymentMethod }) => methodName(paymentMethod) },
    { id: 'userId', header: text('fields.userId'), optional: true, cell: ({ userId }) => <bdi>{userId}</bdi> },
    {
      id: 'username',
      header: text('fields.username'),
      optional: true,
      cell: ({ username }) => <bdi>{username}</bdi>,
    },
    {
      id: 'trackingId',
      header: text('fields.trackingId'),
      optional: true,
      cell: ({ trackingId }) => <code>{trackingId}</code>,
    },
    {
      id: 'updated',
      header: text('fields.updatedAt'),
      optional: true,
      cell: ({ updatedAt }) => <Time at={updatedAt} />,
    },
    {
      id: 'expires',
      header: text('fields.expiresAt'),
      optional: true,
      cell: ({ expiresAt }) => expiresAt !== null && <Time at={expiresAt} />,
    },
  ]
}

function StatusCell({ row: { status, needsAttention } }: { row: TransferRow }) {
  const text = useText()
  return (
    <span className="TransfersPage-status">
      <StatusBadge status={status} />
      {needsAttention && <Badge tone="person">{text('transfer.attention')}</Badge>}
    </span>
  )
}

/** Shows the actual amount, if any money moved. */
function ActualAmount({ row: { transactionAmountMinor, hasAmountMismatch } }: { row: TransferRow }) {
  if (transactionAmountMinor === 0) return null
  return <Amount minor={transactionAmountMinor} {...(hasAmountMismatch && { tone: 'differs' as const })} />
}

/** Shows who holds the claim. The expiry of a claim is not an event, so it is checked here. */
function Claim({ row: { claim } }: { row: TransferRow }) {
  const text = useText()
  const actorName = useActorName()
  if (!claim || leftMs(claim, Date.now()) <= 0) return null
  return <bdi>{claim.mine ? text('transfers.you') : actorName(claim.name)}</bdi>
}
