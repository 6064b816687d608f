import type { ApiError } from '../../api/api-error'
import type { TransferDetail } from '../../api/contract'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { Amount } from '../../components/Amount'
import { StatusBadge } from '../../components/Badge'
import { Button, ButtonLink } from '../../components/Button'
import { CopyableId } from '../../components/Copyable'
import { Facts } from '../../components/Facts'
import { Problem } from '../../components/Problem'
import { Time } from '../../components/Time'
import { useAmounts } from '../../components/use-amounts'
import { Approval } from '../transfer/Approval'
import { BankFileChip } from './BankFileChip'
import { ClaimChip } from './ClaimChip'
import { CopyLine } from './CopyLine'
import { actionKeys, type KeyedAction } from './paying-keys'

interface PayPanelProps {
  readonly transfer: TransferDetail
  /** Another user has changed the withdrawal since it was shown. */
  readonly hasChanged: boolean
  readonly pending: KeyedAction | undefined
  readonly error: ApiError | null
  readonly onAction: (action: KeyedAction) => void
}

export function PayPanel({ transfer, hasChanged, pending, error, onAction }: PayPanelProps) {
  const text = useText()
  return (
    <section
      className="PayPanel stack"
      aria-label={text('transfer.title.withdrawal', { reference: transfer.referenceId })}
    >
      <div className="row">
        <StatusBadge status={transfer.status} />
        <ClaimChip claim={transfer.claim} />
        <BankFileChip bankFile={transfer.bankFile} />
        <output>{hasChanged && <span className="PayPanel-changed">{text('paying.changed')}</span>}</output>
      </div>
      <PayTo transfer={transfer} />
      <Problem error={error} />
      <div className="PayPanel-actions row">
        {Object.entries(actionKeys).map(([key, action]) => {
          if (!transfer.actions.includes(action)) return null
          const isPrimary = action === 'complete' || (action === 'claim' && !transfer.claim?.mine)
          return (
            <Button
              key={action}
              look={isPrimary ? 'primary' : action === 'cancel' ? 'danger' : 'plain'}
              pending={pending === action}
              onPress={() => onAction(action)}
            >
              {text(`common.action.${action}`)} <kbd aria-hidden>{key}</kbd>
            </Button>
          )
        })}
      </div>
      <PaymentDetails transfer={transfer} />
    </section>
  )
}

function PayTo({ transfer }: { readonly transfer: TransferDetail }) {
  const text = useText()
  const { formatField } = useAmounts()
  const { amountMinor, accountNumber, name, referenceId } = transfer
  return (
    <dl className="PayTo">
      <CopyLine label={text('fields.amountMinor')} value={formatField(amountMinor)}>
        <Amount minor={amountMinor} />
      </CopyLine>
      {accountNumber !== null && (
        <CopyLine label={text('fields.accountNumber')} value={accountNumber.replace(/\s/g, '')}>
          <AccountNumber account={accountNumber} />
        </CopyLine>
      )}
      <CopyLine label={text('fields.name')} value={name}>
        <bdi>{name}</bdi>
      </CopyLine>
      <CopyLine label={text('fields.referenceId')} value={referenceId}>
        {referenceId}
      </CopyLine>
    </dl>
  )
}

function PaymentDetails({ transfer }: { readonly transfer: TransferDetail }) {
  const text = useText()
  const merchantName = useMerchantName()
  const methodName = usePaymentMethodName()
  const { approval, message, trackingId } = transfer
  return (
    <>
      <Facts
        items={[
          { label: text('fields.merchantId'), value: merchantName(transfer.merchantId) },
          { label: text('fields.paymentMethod'), value: methodName(transfer.paymentMethod) },
          { label: text('fields.userId'), value: <bdi>{transfer.userId}</bdi> },
          { label: text('fields.createdAt'), value: <Time at={transfer.createdAt} /> },
          { label: text('fields.approval'), value: <Approval approval={approval} /> },
          { label: text('fields.message'), value: message === null ? undefined : <bdi>{message}</bdi> },
          {
            label: text('fields.trackingId'),
            value: <CopyableId value={trackingId} label={text('fields.trackingId')} />,
          },
        ]}
      />
      <ButtonLink to="/transfers/$trackingId" params={{ trackingId }} look="quiet">
        {text('paying.open')}
      </ButtonLink>
    </>
  )
}
