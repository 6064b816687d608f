import { Check, CircleAlert, TriangleAlert } from 'lucide-react'
import { doubts } from '../../../../../src/domain/bank/match-reasons'
import type { Status } from '../../../../../src/domain/transfer/status'
import type { BankPayment, BankProposal } from '../../../../../src/http/dashboard/bank/bank-api'
import { useText } from '../../app/texts'
import { StatusBadge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { useRefusalText } from '../../components/shown-refusals'
import { TransferLink } from '../../components/TransferLink'
import { BankAmount } from './BankAmount'
import { doesTo } from './bank-matches'

interface ProposalsProps {
  readonly payment: BankPayment
  /** Omitted where nothing can be decided. */
  readonly onUse?: ((proposal: BankProposal) => void) | undefined
}

/** Shows the transfers that a payment can belong to, with its effect on each, the reasons and the doubts. */
export function Proposals({ payment, onUse }: ProposalsProps) {
  const text = useText()
  const refusalText = useRefusalText()
  if (payment.proposals.length === 0) return null
  return (
    <ul className="Proposals">
      {payment.proposals.map((proposal) => {
        const { trackingId, referenceId, name, kind, requestedAmountMinor, refusal, reasons } = proposal
        return (
          <li key={trackingId} className="Proposals-one" data-certain={proposal.isCertain || undefined}>
            <p className="Proposals-head">
              <span className="muted">{text(`bank.does.${doesTo(payment, proposal)}`, { kind })}</span>{' '}
              <TransferLink trackingId={trackingId} referenceId={referenceId} /> <bdi>{name}</bdi>
              {requestedAmountMinor !== payment.amountMinor && (
                <BankAmount minor={requestedAmountMinor} currency={payment.currency} />
              )}
              <StatusBadge status={proposal.transferStatus as Status} />
            </p>
            <ul className="Proposals-reasons">
              {reasons.map((reason) => (
                <li key={reason} data-doubt={doubts.has(reason) || undefined}>
                  {doubts.has(reason) ? <TriangleAlert className="icon-12" /> : <Check className="icon-12" />}
                  {text(`bank.reason.${reason}`)}
                </li>
              ))}
              {refusal && (
                <li data-refusal>
                  <CircleAlert className="icon-12" />
                  <bdi>{refusalText({ ...refusal, message: refusal.rule })}</bdi>
                </li>
              )}
            </ul>
            {onUse && !refusal && (
              <Button
                small
                onPress={() => onUse(proposal)}
                aria-label={text('bank.useFor', { reference: referenceId })}
              >
                {text('bank.use')}
              </Button>
            )}
          </li>
        )
      })}
    </ul>
  )
}
