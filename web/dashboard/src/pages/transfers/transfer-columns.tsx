import { CreditCard, EqualNot, Landmark, Wallet } from 'lucide-react'
import type { Kind, TransferRow } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useSession } from '../../app/current-session'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Flag, StatusBadge } from '../../components/Badge'
import type { Column } from '../../components/DataTable'
import { Mark } from '../../components/Mark'
import { Time } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'
import { useAmounts } from '../../components/use-amounts'
import { leftMs } from '../payouts/claim-time'
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
  const { currency } = useSession()
  const merchantName = useMerchantName()
  return [
    {
      id: 'amount',
      header: text('transfers.amountIn', { currency: currency.code }),
      align: 'end',
      card: 'title',
      ...(byAmount && { sort: { up: 'smallest', down: 'largest' } }),
      cell: ({ amountMinor }) => (
        <span className="TransfersPage-amount">
          <Amount minor={amountMinor} />
        </span>
      ),
    },
    { id: 'status', header: text('fields.status'), card: 'status', cell: (row) => <StatusCell row={row} /> },
    {
      id: 'name',
      header: text('fields.name'),
      wide: true,
      card: 'name',
      cell: ({ name }) => <bdi className="TransfersPage-name">{name}</bdi>,
    },
    {
      id: 'merchant',
      header: text('fields.merchantId'),
      from: 'room',
      cell: ({ merchantId }) => (
        <span className="TransfersPage-marked">
          <Mark name={merchantName(merchantId)} />
          <bdi>{merchantName(merchantId)}</bdi>
        </span>
      ),
    },
    {
      id: 'accountNumber',
      header: text('fields.accountNumber'),
      from: 'wide',
      cell: ({ accountNumber }) => <bdi className="TransfersPage-reference">{accountNumber}</bdi>,
    },
    {
      id: 'method',
      header: text('fields.paymentMethod'),
      from: 'room',
      cell: ({ paymentMethod }) => <Method code={paymentMethod} />,
    },
    {
      id: 'reference',
      header: text('fields.referenceId'),
      card: 'under',
      cell: (row) => (
        <>
          <bdi className="TransfersPage-of">{merchantName(row.merchantId)}</bdi>
          <span className="TransfersPage-reference">
            <TransferLink {...row} />
          </span>
        </>
      ),
    },
    { id: 'claim', header: text('fields.claim'), from: 'room', cell: (row) => <Claim row={row} /> },
    {
      id: 'userId',
      header: text('fields.userId'),
      from: 'wide',
      cell: ({ userId }) => <bdi className="muted">{userId}</bdi>,
    },
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
    { id: 'updated', header: text('fields.updatedAt'), from: 'wide', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
    {
      id: 'expires',
      header: text('fields.expiresAt'),
      optional: true,
      cell: ({ expiresAt }) => expiresAt !== null && <Time at={expiresAt} />,
    },
    {
      id: 'created',
      header: text('fields.createdAt'),
      align: 'end',
      card: 'end',
      ...(byTime && { sort: { up: 'oldest', down: 'newest' } }),
      cell: ({ createdAt }) => (
        <span className="muted">
          <Time at={createdAt} />
        </span>
      ),
    },
  ]
}

/** Shows the status and at most one flag. A changed amount comes before the need for attention. */
function StatusCell({ row }: { row: TransferRow }) {
  const { status, needsAttention, hasAmountMismatch, transactionAmountMinor } = row
  const text = useText()
  const { format } = useAmounts()
  return (
    <span className="TransfersPage-status">
      <StatusBadge status={status} />
      {hasAmountMismatch && transactionAmountMinor !== 0 ? (
        <Flag tone="person" icon={EqualNot}>
          {text(`transfers.moved.${row.kind}`, { amount: format(transactionAmountMinor) })}
        </Flag>
      ) : (
        needsAttention && <Flag tone="person">{text('transfer.attention')}</Flag>
      )}
    </span>
  )
}

/** The icons of the catalogue's first methods. Others have none. */
const methodIcons = [undefined, Wallet, Landmark, CreditCard]

function Method({ code }: { code: number }) {
  const methodName = usePaymentMethodName()
  const Icon = methodIcons[code]
  return (
    <span className="TransfersPage-marked muted">
      {Icon && <Icon className="icon-14" />}
      {methodName(code)}
    </span>
  )
}

/** Shows who holds the claim. The expiry of a claim is not an event, so it is checked here. */
function Claim({ row: { claim } }: { row: TransferRow }) {
  const text = useText()
  const actorName = useActorName()
  if (!claim || leftMs(claim, Date.now()) <= 0) return null
  const name = claim.mine ? text('transfers.you') : actorName(claim.name)
  return (
    <span title={name}>
      <Mark name={actorName(claim.name)} person mine={claim.mine} />
      <span className="visually-hidden">{name}</span>
    </span>
  )
}
