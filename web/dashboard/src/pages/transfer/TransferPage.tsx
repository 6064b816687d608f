import './TransferPage.css'
import { getRouteApi } from '@tanstack/react-router'
import type { TransferDetail } from '../../api/contract'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Badge, StatusBadge } from '../../components/Badge'
import { Button, ButtonLink } from '../../components/Button'
import { Card } from '../../components/Card'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { TransferActions } from './TransferActions'
import { TransferCallbacks } from './TransferCallbacks'
import { TransferDetails } from './TransferDetails'
import { TransferMoney } from './TransferMoney'
import { TransferTimeline } from './TransferTimeline'
import { useTransfer, useTransferHistory } from './use-transfer'

const route = getRouteApi('/pages/transfers/$trackingId')

export function TransferPage() {
  const text = useText()
  const { trackingId } = route.useParams()
  const query = useTransfer(trackingId)
  const canAudit = usePermission('audit:read')
  const title = query.data
    ? text(`transfer.title.${query.data.kind}`, { reference: query.data.referenceId })
    : text('fields.transfer')
  return (
    <Page
      title={title}
      actions={
        query.data && (
          <>
            {canAudit && (
              <ButtonLink to="/audit" search={{ view: 'transfer', id: trackingId }}>
                {text('transfer.fullHistory')}
              </ButtonLink>
            )}
            <Button onPress={() => window.print()}>{text('common.print')}</Button>
          </>
        )
      }
    >
      <Loaded query={query}>{(detail) => <Transfer key={trackingId} detail={detail} />}</Loaded>
    </Page>
  )
}

function Transfer({ detail }: { detail: TransferDetail }) {
  const text = useText()
  const history = useTransferHistory(detail.trackingId)
  return (
    <div className="stack">
      <div className="TransferPage-head">
        <StatusBadge status={detail.status} />
        <strong className="TransferPage-amount number">
          <Amount minor={detail.amountMinor} />
        </strong>
        {detail.hasAmountMismatch && <Badge tone="bad">{text('fields.hasAmountMismatch')}</Badge>}
        {detail.needsAttention && <Badge tone="person">{text('transfer.attention')}</Badge>}
        <TransferActions detail={detail} />
      </div>
      <div className="TransferPage-columns">
        <div className="stack">
          <TransferMoney detail={detail} />
          <TransferDetails detail={detail} />
        </div>
        <div className="stack TransferPage-activity">
          <Card title={text('transfer.history')}>
            <Loaded query={history}>{({ items }) => <TransferTimeline items={items} />}</Loaded>
          </Card>
          <TransferCallbacks trackingId={detail.trackingId} />
        </div>
      </div>
    </div>
  )
}
