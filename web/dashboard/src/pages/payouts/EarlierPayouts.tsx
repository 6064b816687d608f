import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { TransferDetail, TransfersResponse } from '../../../../../src/http/dashboard/api'
import { plainAccountNumber } from '../../../../../src/kernel/account-number'
import { api } from '../../api/api-client'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Day } from '../../components/Time'

const shown = 3

/** Lists the latest other withdrawals to the account, which reveals a payment that is made twice. */
export function EarlierPayouts({ transfer }: { readonly transfer: TransferDetail }) {
  const text = useText()
  const merchantName = useMerchantName()
  const { trackingId, accountNumber } = transfer
  const account = plainAccountNumber(accountNumber ?? '')
  const query = useQuery({
    queryKey: ['earlier', account, trackingId],
    queryFn: ({ signal }) =>
      api.get<TransfersResponse>('/transfers', { kind: 'withdrawal', text: account, limit: 20 }, signal),
    enabled: account !== '',
  })
  const others = query.data?.items.filter(
    (row) => row.trackingId !== trackingId && plainAccountNumber(row.accountNumber ?? '') === account,
  )
  if (!others) return null
  return (
    <section className="EarlierPayouts" aria-label={text('payouts.earlier')}>
      <p className="spread">
        <strong>{text('payouts.earlier')}</strong>
        {others.length > shown && (
          <Link to="/withdrawals" search={{ text: account }}>
            {text('payouts.earlierAll')}
          </Link>
        )}
      </p>
      {others.length === 0 ? (
        <p>{text('payouts.earlierNone')}</p>
      ) : (
        <ul>
          {others.slice(0, shown).map((row) => (
            <li key={row.trackingId} className="spread">
              <Link to="/transfers/$trackingId" params={{ trackingId: row.trackingId }}>
                <Amount minor={row.transactionAmountMinor || row.amountMinor} /> {text(`common.status.${row.status}`)}
              </Link>
              <span>
                <Day at={row.createdAt} />, <bdi>{merchantName(row.merchantId)}</bdi>
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
