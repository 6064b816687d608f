import type { ApiError } from '../../api/api-error'
import type { TransferDetail } from '../../api/contract'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { StatusBadge } from '../../components/Badge'
import { Button, ButtonLink } from '../../components/Button'
import { CopyableId } from '../../components/Copyable'
import { Facts } from '../../components/Facts'
import { Problem } from '../../components/Problem'
import { useServerWords } from '../../components/server-words'
import { Time } from '../../components/Time'
import { useAmounts } from '../../components/use-amounts'
import { ClaimChip } from './ClaimChip'
import { AccountNumber, CopyLine } from './CopyLine'
import { actionKeys, type KeyedAction } from './paying-keys'

interface PayPanelProps {
  readonly transfer: TransferDetail
  /** It changed while it was looked at, and not by one's own action. */
  readonly changed: boolean
  readonly pending: KeyedAction | undefined
  readonly error: ApiError | null
  readonly onAction: (action: KeyedAction) => void
}

export function PayPanel({ transfer, changed, pending, error, onAction }: PayPanelProps) {
  const text = useText()
  return (
    <section className="PayPanel stack" aria-label={text('paying.current', { reference: transfer.referenceId })}>
      <div className="row">
        <StatusBadge status={transfer.status} />
        <ClaimChip claim={transfer.claim} />
        <output>{changed && <span className="PayPanel-changed">{text('paying.changed')}</span>}</output>
      </div>
      <PayTo transfer={transfer} />
      <Problem error={error} />
      <div className="PayPanel-actions row">
        {Object.entries(actionKeys).map(([key, action]) => {
          if (!transfer.actions.includes(action)) return null
          const isMain = action === 'complete' || (action === 'claim' && !transfer.claim?.mine)
          return (
            <Button
              key={action}
              look={isMain ? 'primary' : action === 'cancel' ? 'danger' : 'plain'}
              pending={pending === action}
              onPress={() => onAction(action)}
            >
              {text(`common.action.${action}`)} <kbd aria-hidden>{key}</kbd>
            </Button>
          )
        })}
      </div>
      <Particulars transfer={transfer} />
    </section>
  )
}

function PayTo({ transfer }: { readonly transfer: TransferDetail }) {
  const text = useText()
  const { formatField } = useAmounts()
  const { amountMinor, accountNumber, name, referenceId } = transfer
  return (
    <dl className="PayTo">
      <CopyLine label={text('paying.amount')} value={formatField(amountMinor)}>
        <Amount minor={amountMinor} />
      </CopyLine>
      {accountNumber !== null && (
        <CopyLine label={text('paying.account')} value={accountNumber.replace(/\s/g, '')}>
          <AccountNumber account={accountNumber} />
        </CopyLine>
      )}
      <CopyLine label={text('paying.name')} value={name}>
        <bdi>{name}</bdi>
      </CopyLine>
      <CopyLine label={text('paying.reference')} value={referenceId}>
        {referenceId}
      </CopyLine>
    </dl>
  )
}

function Particulars({ transfer }: { readonly transfer: TransferDetail }) {
  const text = useText()
  const merchantName = useMerchantName()
  const methodName = usePaymentMethodName()
  const { approval, message, trackingId } = transfer
  return (
    <>
      <Facts
        items={[
          { label: text('paying.merchant'), value: merchantName(transfer.merchantId) },
          { label: text('paying.method'), value: methodName(transfer.paymentMethod) },
          { label: text('paying.customer'), value: <bdi>{transfer.userId}</bdi> },
          { label: text('paying.requested'), value: <Time at={transfer.createdAt} /> },
          { label: text('paying.approval'), value: <Approval approval={approval} /> },
          { label: text('paying.message'), value: message === null ? undefined : <bdi>{message}</bdi> },
          {
            label: text('paying.trackingId'),
            value: <CopyableId value={trackingId} label={text('paying.trackingId')} />,
          },
        ]}
      />
      <ButtonLink to="/transfers/$trackingId" params={{ trackingId }} look="quiet">
        {text('paying.open')}
      </ButtonLink>
    </>
  )
}

function Approval({ approval: { needed, by } }: Pick<TransferDetail, 'approval'>) {
  const text = useText()
  const { name } = useServerWords()
  if (by) {
    return (
      <>
        {text('paying.approvedBy', { name: name(by.name) })} <Time at={by.at} />
      </>
    )
  }
  return text(needed ? 'paying.approvalNeeded' : 'paying.approvalNotNeeded')
}
