import { useState } from 'react'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { ApiError } from '../../api/api-error'
import { useAction } from '../../api/use-action'
import { useActorName } from '../../app/actor-names'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Form } from '../../components/Form'
import { useAmounts } from '../../components/use-amounts'
import { useReady } from '../../components/use-ready'
import { ActionFields } from './ActionFields'
import { ActionSummary } from './ActionSummary'
import { TransferChanged } from './TransferChanged'
import { act, type DialogAction, isQuestion, proposedRefund, variantOf } from './transfer-actions'
import './ActionForm.css'

export interface ActionFormProps {
  readonly action: DialogAction
  /** The current state of the transfer. */
  readonly detail: TransferDetail
  readonly onDone: (detail: TransferDetail) => void
  readonly onFailed: () => void
  readonly onClose: () => void
}

/**
 * Carries out an action on the state of the transfer that the user saw when the form opened. If the transfer changes in the meantime, the
 * form shows the changes, and continues only when the user accepts the current state.
 */
export function ActionForm({ action, detail, onDone, onFailed, onClose }: ActionFormProps) {
  const text = useText()
  const merchantName = useMerchantName()
  const { format } = useAmounts()
  const [seen, setSeen] = useState(detail)
  const [amountMinor, setAmountMinor] = useState<number | undefined>(seen.expectedMinor)
  const isReady = useReady(seen)
  const submission = useAction<FormData, TransferDetail>({
    run: (data) =>
      act(action, seen, data).catch((error: unknown) => {
        onFailed()
        throw error
      }),
    onSuccess: onDone,
  })
  const hasChanged = detail.revision !== seen.revision && !submission.pending
  const isPossible = detail.actions.includes(action)
  const accept = () => {
    setSeen(detail)
    submission.reset()
  }
  const changes = hasChanged && (
    <TransferChanged seen={seen} now={detail} {...(isPossible && { onAccept: accept })} onClose={onClose} />
  )
  if (hasChanged && !isPossible) return changes
  const variant = variantOf(action, seen.kind)
  const { proposedCorrection, merchantId, status } = seen
  const asked = askedMinor(action, seen)
  const amount = format(action === 'complete' ? (amountMinor ?? seen.expectedMinor) : (asked ?? seen.amountMinor))
  const rule = submission.error instanceof ApiError ? submission.error.rule : undefined
  return (
    <Form
      onSubmit={submission.start}
      unready={!isReady}
      error={hasChanged ? null : submission.error}
      submit={text(`transfer.submit.${variant}`, { amount })}
      focusSubmit={isQuestion(action)}
      pending={submission.pending}
      cancel={onClose}
      cancelText={text(`transfer.keep.${action}`)}
      danger={action === 'cancel'}
    >
      {changes}
      <ActionSummary transfer={seen} />
      <p className="ActionForm-explain">
        {text(`transfer.explain.${variant}`, {
          merchant: merchantName(merchantId),
          status,
          rejects: proposedCorrection ? 'yes' : 'no',
        })}
      </p>
      <ActionFields
        action={action}
        seen={seen}
        mustConfirm={rule === 'confirmation-needed' || rule === 'confirmation-differs'}
        onAmount={setAmountMinor}
      />
    </Form>
  )
}

/** Returns the amount of the proposal that an action decides about. */
function askedMinor(action: DialogAction, seen: TransferDetail): number | undefined {
  if (action === 'approve-correction') return seen.proposedCorrection?.amountMinor
  return action === 'approve-refund' || action === 'reject-refund' ? proposedRefund(seen)?.amountMinor : undefined
}

/** Returns the question that the form asks. It names the amount, so that no one confirms a different transfer. */
export function useActionTitle(): (action: DialogAction, transfer: TransferDetail) => string {
  const text = useText()
  const actorName = useActorName()
  const { format } = useAmounts()
  return (action, transfer) => {
    const { kind, name, amountMinor, referenceId, receivedMinor, transactionAmountMinor, proposedCorrection } = transfer
    if (action === 'complete') {
      const amount = format(transfer.expectedMinor)
      if (kind === 'withdrawal') return text('transfer.ask.paid', { amount })
      return text(receivedMinor > 0 ? 'transfer.ask.book' : 'transfer.ask.arrived', { amount })
    }
    const refund = proposedRefund(transfer)
    return text(`transfer.ask.${action}`, {
      refund: format(refund?.amountMinor ?? 0),
      requester: actorName(refund?.name ?? ''),
      amount: format(amountMinor),
      name,
      reference: referenceId,
      booked: format(transactionAmountMinor),
      proposed: format(proposedCorrection?.amountMinor ?? 0),
      proposer: actorName(proposedCorrection?.name ?? ''),
    })
  }
}
