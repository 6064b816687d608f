import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { ReceiptLink } from '../../components/ReceiptLink'
import { Time } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'

/** Shows the refunds of a deposit or the repayments of a withdrawal, oldest first, each with the withdrawal that pays it. */
export function LinkedPayouts({ refunds, repayments }: Pick<TransferDetail, 'refunds' | 'repayments'>) {
  const text = useText()
  const actorName = useActorName()
  const payouts = [
    ...refunds.map((refund) => ({ ...refund, id: refund.refundId })),
    ...repayments.map((repayment) => {
      return { ...repayment, id: repayment.repaymentId, to: 'account' as const, receiptUrl: null }
    }),
  ]
  if (payouts.length === 0) return null
  return (
    <Card title={text(refunds.length > 0 ? 'fields.refunds' : 'fields.repayments')}>
      <dl className="TransferMoney">
        {payouts.map(({ id, referenceId, amountMinor, to, state, name, at, accountNumber, receiptUrl }) => (
          <div key={id}>
            <dt>
              {text(`transfer.payout.${state}`)}
              <span className="TransferMoney-more">
                {to === 'wallet' && text('transfer.refundToWallet')}
                {receiptUrl !== null && <ReceiptLink url={receiptUrl} />}
                {accountNumber !== null && <AccountNumber account={accountNumber} />}
              </span>
              <span className="TransferMoney-more">
                <bdi>{actorName(name)}</bdi>, <Time at={at} exact />
              </span>
              {to === 'account' && (
                <span className="TransferMoney-more">
                  <TransferLink trackingId={id} referenceId={referenceId} />
                </span>
              )}
            </dt>
            <dd>
              <Amount minor={amountMinor} />
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}
