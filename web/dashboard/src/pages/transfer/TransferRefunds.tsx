import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { ReceiptLink } from '../../components/ReceiptLink'
import { Time } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'

type Refund = TransferDetail['refunds'][number]

/** Shows the refunds of a deposit, oldest first, each with the withdrawal that pays it. */
export function TransferRefunds({ refunds }: Pick<TransferDetail, 'refunds'>) {
  const text = useText()
  if (refunds.length === 0) return null
  return (
    <Card title={text('fields.refunds')}>
      <dl className="TransferMoney">
        {refunds.map((refund) => (
          <div key={refund.refundId}>
            <dt>
              {text(`transfer.payout.${refund.state}`)}
              <RefundMore refund={refund} />
            </dt>
            <dd>
              <Amount minor={refund.amountMinor} />
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

/** Shows the withdrawals that pay again what came back, oldest first. */
export function TransferRepayments({ repayments }: Pick<TransferDetail, 'repayments'>) {
  const text = useText()
  const actorName = useActorName()
  if (repayments.length === 0) return null
  return (
    <Card title={text('fields.repayments')}>
      <dl className="TransferMoney">
        {repayments.map(({ repaymentId, referenceId, amountMinor, state, name, at, accountNumber }) => (
          <div key={repaymentId}>
            <dt>
              {text(`transfer.payout.${state}`)}
              <span className="TransferMoney-more">
                <AccountNumber account={accountNumber} />
              </span>
              <span className="TransferMoney-more">
                <bdi>{actorName(name)}</bdi>, <Time at={at} exact />
              </span>
              <span className="TransferMoney-more">
                <TransferLink trackingId={repaymentId} referenceId={referenceId} />
              </span>
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

function RefundMore({ refund }: { readonly refund: Refund }) {
  const text = useText()
  const actorName = useActorName()
  const { refundId, referenceId, to, name, at, accountNumber, receiptUrl } = refund
  return (
    <>
      <span className="TransferMoney-more">
        {to === 'wallet' && text('transfer.refundToWallet')}
        {to === 'elsewhere' && receiptUrl !== null && <ReceiptLink url={receiptUrl} />}
        {accountNumber !== null && <AccountNumber account={accountNumber} />}
      </span>
      <span className="TransferMoney-more">
        <bdi>{actorName(name)}</bdi>, <Time at={at} exact />
      </span>
      {to === 'account' && (
        <span className="TransferMoney-more">
          <TransferLink trackingId={refundId} referenceId={referenceId} />
        </span>
      )}
    </>
  )
}
