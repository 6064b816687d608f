import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useIntl } from 'react-intl'
import { hasValue } from '../../../../../src/domain/event-summary'
import type { ClaimView, TransferDetail } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useKnownText, useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { Card } from '../../components/Card'
import { CopyableId } from '../../components/Copyable'
import { useExceededText } from '../../components/exceeded-limits'
import { Facts } from '../../components/Facts'
import { OpenRecord } from '../../components/OpenRecord'
import { ReceiptLink } from '../../components/ReceiptLink'
import { exactTime, Time } from '../../components/Time'
import { BankFileChip } from '../payouts/BankFileChip'
import { Approval } from './Approval'

/** Shows all fields of a transfer. */
export function TransferDetails({ detail }: { detail: TransferDetail }) {
  const text = useText()
  const known = useKnownText()
  const merchantName = useMerchantName()
  const methodName = usePaymentMethodName()
  const copyable = (label: string, value: string | null | undefined, shown?: ReactNode) => ({
    label,
    value: !value ? undefined : <CopyableId value={value} label={label} shown={shown} />,
  })
  const exceededText = useExceededText()
  const { claim, bankFile, approval, exceeded, channel, expiresAt, receiptUrl, message, metadata } = detail
  return (
    <Card title={text('transfer.details')}>
      <Facts
        items={[
          copyable(text('fields.referenceId'), detail.referenceId),
          copyable(text('fields.trackingId'), detail.trackingId, shortId(detail.trackingId)),
          { label: text('fields.merchantId'), value: <bdi>{merchantName(detail.merchantId)}</bdi> },
          {
            label: text('fields.refundOf'),
            value:
              detail.refundOf === null ? undefined : (
                <Link to="/transfers/$trackingId" params={{ trackingId: detail.refundOf }}>
                  {text('transfer.linkedTransfer')}
                </Link>
              ),
          },
          {
            label: text('fields.repaymentOf'),
            value:
              detail.repaymentOf === null ? undefined : (
                <Link to="/transfers/$trackingId" params={{ trackingId: detail.repaymentOf }}>
                  {text('transfer.linkedTransfer')}
                </Link>
              ),
          },
          { label: text('fields.paymentMethod'), value: methodName(detail.paymentMethod) },
          { label: text('fields.channel'), value: channel && (known(`transfer.channel.${channel}`) ?? channel) },
          { label: text('fields.name'), value: <bdi>{detail.name}</bdi> },
          { label: text('fields.username'), value: <bdi>{detail.username}</bdi> },
          copyable(text('fields.userId'), detail.userId),
          copyable(
            text('fields.accountNumber'),
            detail.accountNumber?.replace(/\s/g, ''),
            detail.accountNumber && <AccountNumber account={detail.accountNumber} />,
          ),
          copyable(text('fields.identityNumber'), detail.identityNumber),
          { label: text('fields.createdAt'), value: <Time at={detail.createdAt} exact /> },
          { label: text('fields.updatedAt'), value: <Time at={detail.updatedAt} exact /> },
          { label: text('fields.expiresAt'), value: expiresAt === null ? undefined : <Time at={expiresAt} exact /> },
          {
            label: text('fields.receiptUrl'),
            value: receiptUrl === null ? undefined : <ReceiptLink url={receiptUrl} />,
          },
          { label: text('fields.message'), value: message === null ? undefined : <bdi>{message}</bdi> },
          {
            label: text('fields.metadata'),
            value: metadata && hasValue('metadata', metadata) ? <OpenRecord record={metadata} /> : undefined,
          },
          { label: text('fields.claim'), value: claim ? <Claimed claim={claim} /> : undefined },
          {
            label: text('fields.bankFile'),
            value: bankFile && (
              <>
                <CopyableId value={bankFile.messageId} label={text('fields.bankFile')} />{' '}
                <BankFileChip bankFile={bankFile} />
              </>
            ),
          },
          {
            label: text('fields.approval'),
            value: approval.needed || approval.by ? <Approval approval={approval} /> : undefined,
          },
          {
            label: text('fields.exceeded'),
            value: exceeded.length > 0 ? exceededText(exceeded) : undefined,
          },
          { label: text('fields.revision'), value: detail.revision },
        ]}
      />
    </Card>
  )
}

function Claimed({ claim: { name, until, mine } }: { claim: ClaimView }) {
  const text = useText()
  const actorName = useActorName()
  const intl = useIntl()
  if (until === null) return <bdi>{mine ? text('transfers.you') : actorName(name)}</bdi>
  const untilExact = exactTime(intl, until)
  return (
    <bdi>
      {mine
        ? text('transfer.claimedByYou', { until: untilExact })
        : text('transfer.claimedBy', { name: actorName(name), until: untilExact })}
    </bdi>
  )
}

/** Shortens an id to its first eight and last four characters. It is copied whole. */
function shortId(id: string): string {
  return `${id.slice(0, 8)}…${id.slice(-4)}`
}
