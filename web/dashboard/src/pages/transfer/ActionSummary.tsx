import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useMerchantName } from '../../app/merchant-names'
import { AccountNumber } from '../../components/AccountNumber'
import { Amount } from '../../components/Amount'

/** Shows what a question is about: the amount, to or from whom, and the account. */
export function ActionSummary({ transfer }: { readonly transfer: TransferDetail }) {
  const merchantName = useMerchantName()
  const { amountMinor, name, accountNumber, referenceId, merchantId } = transfer
  return (
    <div className="ActionSummary">
      <strong className="ActionSummary-amount">
        <Amount minor={amountMinor} />
      </strong>
      <strong>
        <bdi>{name}</bdi>
      </strong>
      {accountNumber !== null && <AccountNumber account={accountNumber} />}
      <span>
        <bdi>{referenceId}</bdi>, <bdi>{merchantName(merchantId)}</bdi>
      </span>
    </div>
  )
}
