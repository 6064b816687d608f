import { Link } from '@tanstack/react-router'
import { FormattedDate } from 'react-intl'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { Time } from '../../components/Time'

/** Shows the payments of bank statements that concern a transfer, oldest first. A rejection is not a payment of a statement. */
export function BankPaymentsCard({ bankPayments }: Pick<TransferDetail, 'bankPayments'>) {
  const text = useText()
  if (bankPayments.length === 0) return null
  return (
    <Card title={text('transfer.bankPayments')}>
      <dl className="TransferMoney">
        {bankPayments.map(({ bankPaymentId, effect, amountMinor, bookedOn, bankReference, at }) => (
          <div key={bankPaymentId}>
            <dt>
              {bookedOn === null ? (
                <Time at={at} exact />
              ) : (
                <Link to="/bank-statements" search={{ payment: bankPaymentId }}>
                  <FormattedDate value={bookedOn} timeZone="UTC" dateStyle="medium" />
                </Link>
              )}
              <span className="TransferMoney-more">{text(`fields.effect.${effect}`)}</span>
              {bankReference !== null && (
                <span className="TransferMoney-more">
                  <bdi>{bankReference}</bdi>
                </span>
              )}
            </dt>
            <dd>{effect !== 'rejected' && <Amount minor={amountMinor} />}</dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}
