import { useIntl } from 'react-intl'
import type { ClaimView, TransferDetail } from '../../api/contract'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useKnownText, useText } from '../../app/texts'
import { Card } from '../../components/Card'
import { CopyableId } from '../../components/Copyable'
import { Facts } from '../../components/Facts'
import { ReceiptLink } from '../../components/ReceiptLink'
import { useServerWords } from '../../components/server-words'
import { exactTime, Time } from '../../components/Time'

/** Every field that there is. */
export function TransferDetails({ detail }: { detail: TransferDetail }) {
  const text = useText()
  const known = useKnownText()
  const merchantName = useMerchantName()
  const methodName = usePaymentMethodName()
  const copyable = (label: string, value: string | null) => ({
    label,
    value: value === null ? undefined : <CopyableId value={value} label={label} />,
  })
  const { claim, approval, channel, expiresAt, receiptUrl, message } = detail
  return (
    <Card title={text('transfer.details')}>
      <Facts
        items={[
          copyable(text('transfer.trackingId'), detail.trackingId),
          copyable(text('transfer.referenceId'), detail.referenceId),
          { label: text('transfer.merchant'), value: <bdi>{merchantName(detail.merchantId)}</bdi> },
          { label: text('transfer.method'), value: methodName(detail.paymentMethod) },
          { label: text('transfer.channel'), value: channel && (known(`transfer.channel.${channel}`) ?? channel) },
          { label: text('transfer.name'), value: <bdi>{detail.name}</bdi> },
          { label: text('transfer.username'), value: <bdi>{detail.username}</bdi> },
          copyable(text('transfer.userId'), detail.userId),
          copyable(text('transfer.accountNumber'), detail.accountNumber),
          copyable(text('transfer.identityNumber'), detail.identityNumber),
          { label: text('transfer.created'), value: <Time at={detail.createdAt} exact /> },
          { label: text('transfer.updated'), value: <Time at={detail.updatedAt} exact /> },
          { label: text('transfer.expires'), value: expiresAt === null ? undefined : <Time at={expiresAt} exact /> },
          {
            label: text('transfer.receipt'),
            value: receiptUrl === null ? undefined : <ReceiptLink url={receiptUrl} />,
          },
          { label: text('transfer.message'), value: message === null ? undefined : <bdi>{message}</bdi> },
          { label: text('transfer.claim'), value: claim ? <Claimed claim={claim} /> : undefined },
          {
            label: text('transfer.approval'),
            value: approval.needed || approval.by ? <Approval approval={approval} /> : undefined,
          },
          { label: text('transfer.revision'), value: detail.revision },
        ]}
      />
    </Card>
  )
}

function Claimed({ claim: { name, until, mine } }: { claim: ClaimView }) {
  const text = useText()
  const serverWords = useServerWords()
  const intl = useIntl()
  const untilExact = exactTime(intl, until)
  return (
    <bdi>
      {mine
        ? text('transfer.claimedByYou', { until: untilExact })
        : text('transfer.claimedBy', { name: serverWords.name(name), until: untilExact })}
    </bdi>
  )
}

function Approval({ approval: { needed, by } }: Pick<TransferDetail, 'approval'>) {
  const text = useText()
  const { name } = useServerWords()
  const intl = useIntl()
  if (by) return <bdi>{text('transfer.approvedBy', { name: name(by.name), at: exactTime(intl, by.at) })}</bdi>
  return needed && <span className="TransferPage-note">{text('transfer.approvalNeeded')}</span>
}
