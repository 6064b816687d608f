import { ArrowDownToLine, ArrowUpFromLine, EqualNot, Lock, Timer, UserCheck } from 'lucide-react'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Flag, StatusBadge } from '../../components/Badge'
import { useExceededText } from '../../components/exceeded-limits'
import { useAmounts } from '../../components/use-amounts'
import { activeClaim, leftMs, minutesAndSeconds } from '../payouts/claim-time'
import { useSecondClock } from '../payouts/claim-timers'
import { differenceMinor, missingMinor } from './transfer-amounts'

/** Shows the amount that moved, next to the requested one if they differ, with the status and one flag. */
export function TransferHeadline({ detail }: { readonly detail: TransferDetail }) {
  const text = useText()
  const merchantName = useMerchantName()
  const { format } = useAmounts()
  const { kind, name, merchantId, amountMinor, transactionAmountMinor } = detail
  const moved = transactionAmountMinor || amountMinor
  const Icon = kind === 'deposit' ? ArrowDownToLine : ArrowUpFromLine
  return (
    <div className="TransferHeadline">
      <p className="TransferHeadline-who">
        <Icon className="icon-14" />
        <bdi>{text(`transfer.of.${kind}`, { name, merchant: merchantName(merchantId) })}</bdi>
      </p>
      <p className="TransferHeadline-amount">
        <Amount minor={moved} />
        {moved !== amountMinor && (
          <span className="TransferHeadline-of">{text(movedId(detail), { amount: format(amountMinor) })}</span>
        )}
        <StatusBadge status={detail.status} />
        <HeadlineFlag detail={detail} />
      </p>
    </div>
  )
}

function movedId({ kind, status }: TransferDetail) {
  if (status !== 'Completed') return 'transfer.receivedOf'
  return kind === 'deposit' ? 'transfer.bookedOf' : 'transfer.paidOf'
}

/** The one thing to know before acting: a missing approval, a difference, money without a decision, or the claim. */
function HeadlineFlag({ detail }: { readonly detail: TransferDetail }) {
  const text = useText()
  const actorName = useActorName()
  const exceededText = useExceededText()
  const { format } = useAmounts()
  const nowMs = useSecondClock()
  const difference = differenceMinor(detail)
  const claim = activeClaim(detail.claim, nowMs)
  if (detail.awaitsApproval) {
    return (
      <Flag tone="second" icon={UserCheck} title={exceededText(detail.exceeded)}>
        {text('payouts.needsApproval')}
      </Flag>
    )
  }
  if (detail.waitsForRest)
    return <Flag>{text('transfer.amountMissing', { amount: format(missingMinor(detail)) })}</Flag>
  if (difference !== 0) {
    const amount = format(Math.abs(difference))
    return (
      <Flag tone="person" icon={EqualNot}>
        {text(difference > 0 ? 'transfer.amountMore' : 'transfer.amountLess', { amount })}
      </Flag>
    )
  }
  if (detail.needsAttention) return <Flag tone="person">{text('transfer.attention')}</Flag>
  if (!claim) return null
  if (!claim.mine) return <Flag icon={Lock}>{actorName(claim.name)}</Flag>
  return (
    <Flag tone="accent" icon={Timer}>
      {claim.until === null
        ? text('transfers.you')
        : text('payouts.yours', { left: minutesAndSeconds(leftMs(claim, nowMs)) })}
    </Flag>
  )
}
