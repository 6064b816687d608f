import './TransferPage.css'
import { getRouteApi } from '@tanstack/react-router'
import { History, Printer } from 'lucide-react'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button, ButtonLink } from '../../components/Button'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { BankPaymentsCard } from './BankPaymentsCard'
import { LinkedPayouts } from './LinkedPayouts'
import { TransferActions } from './TransferActions'
import { TransferCallbacks } from './TransferCallbacks'
import { TransferDetails } from './TransferDetails'
import { TransferHeadline } from './TransferHeadline'
import { TransferMoney } from './TransferMoney'
import { TransferPeople } from './TransferPeople'
import { TransferRejection } from './TransferRejection'
import { TransferSteps } from './TransferSteps'
import { TransferStory } from './TransferStory'
import { useFollowedTransfer, useTransfer, useTransferHistory } from './use-transfer'

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
              <ButtonLink to="/audit" search={{ view: 'transfer', id: trackingId }} look="quiet">
                <History />
                {text('transfer.fullHistory')}
              </ButtonLink>
            )}
            <Button look="quiet" onPress={() => window.print()}>
              <Printer />
              {text('common.print')}
            </Button>
          </>
        )
      }
    >
      <Loaded query={query}>{(detail) => <Transfer key={trackingId} detail={detail} />}</Loaded>
    </Page>
  )
}

function Transfer({ detail }: { detail: TransferDetail }) {
  useFollowedTransfer(detail)
  const history = useTransferHistory(detail.trackingId)
  return (
    <div className="TransferPage">
      <div className="TransferPage-head">
        <TransferHeadline detail={detail} />
        <TransferActions detail={detail} />
      </div>
      <TransferRejection detail={detail} />
      <Loaded query={history}>
        {({ items }) => (
          <>
            <TransferSteps detail={detail} items={items} />
            <div className="TransferPage-columns">
              <div className="TransferPage-story">
                <TransferStory items={items} />
              </div>
              <div className="TransferPage-details">
                <TransferDetails detail={detail} />
              </div>
              <div className="TransferPage-side">
                <TransferMoney detail={detail} />
                <LinkedPayouts refunds={detail.refunds} repayments={detail.repayments} />
                <BankPaymentsCard bankPayments={detail.bankPayments} />
                <TransferCallbacks trackingId={detail.trackingId} />
                <TransferPeople detail={detail} items={items} />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </div>
  )
}
