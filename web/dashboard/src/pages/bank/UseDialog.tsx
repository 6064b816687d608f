import { useState } from 'react'
import { doubts } from '../../../../../src/domain/bank/match-reasons'
import type { BankPayment, BankUsesResponse } from '../../../../../src/http/dashboard/bank/bank-api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { useRefusalText } from '../../components/shown-refusals'
import { notify } from '../../components/Toasts'
import { useReady } from '../../components/use-ready'
import { BankAmount } from './BankAmount'
import { type ChosenUse, doesTo, useItem } from './bank-matches'

type Outcome = BankUsesResponse['items'][number]

interface UseDialogProps {
  readonly chosen: readonly ChosenUse[]
  readonly onClose: () => void
  /** Receives the payments in their new state. */
  readonly onDone: (payments: readonly BankPayment[]) => void
}

/** The most uses of one request, each of which takes some milliseconds. */
const perRequest = 50

/** Asks whether payments are used for their transfers. Each one succeeds or fails separately, and the rejected ones are shown. */
export function UseDialog({ chosen, onClose, onDone }: UseDialogProps) {
  const text = useText()
  const refusalText = useRefusalText()
  // The selection when the dialog opened, because the list changes while the dialog is open.
  const [seen] = useState(chosen)
  const isReady = useReady(seen)
  const [done, setDone] = useState(0)
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>()
  const action = useAction({
    run: async () => {
      const all: Outcome[] = []
      for (let from = 0; from < seen.length; from += perRequest) {
        const items = seen.slice(from, from + perRequest).map(useItem)
        const { items: results } = await api.send<BankUsesResponse>('POST', '/bank/uses', { items })
        all.push(...results)
        setDone(all.length)
        onDone(results.flatMap(({ payment }) => payment ?? []))
      }
      return all
    },
    refresh: [['bank-days']],
    onSuccess: (all) => {
      if (all.some(({ refusal }) => refusal)) return setOutcomes(all)
      notify(text('bank.usedCount', { count: all.length }))
      onClose()
    },
  })
  const rejected = seen.flatMap((each) => {
    const { paymentId } = each.payment
    const { trackingId } = each.proposal
    const found = outcomes?.find((outcome) => outcome.paymentId === paymentId && outcome.trackingId === trackingId)
    return found?.refusal ? [{ ...each, refusal: found.refusal }] : []
  })
  const title = outcomes
    ? text('bank.rejectedCount', { count: rejected.length, of: seen.length })
    : text('bank.useTitle', { count: seen.length, reference: seen[0]?.proposal.referenceId })
  return (
    <Dialog title={title} open onClose={onClose} wide={seen.length > 1}>
      {outcomes ? (
        <>
          <ul className="UseDialog-list">
            {rejected.map(({ payment, proposal, refusal }) => (
              <li key={`${payment.paymentId} ${proposal.trackingId}`}>
                <BankAmount minor={proposal.amountMinor} currency={payment.currency} />
                <span>
                  <Badge tone="bad">{text('payouts.bulkRejected')}</Badge> <bdi>{proposal.referenceId}</bdi>
                  <br />
                  <bdi>{refusalText({ ...refusal, message: refusal.rule })}</bdi>
                </span>
              </li>
            ))}
          </ul>
          <div className="Form-buttons">
            <Button look="primary" autoFocus onPress={onClose}>
              {text('common.close')}
            </Button>
          </div>
        </>
      ) : (
        <Form
          onSubmit={() => action.start()}
          error={action.error}
          submit={text('bank.useSubmit', { count: seen.length })}
          focusSubmit
          unready={!isReady}
          pending={action.pending}
          cancel={onClose}
        >
          <ul className="UseDialog-list">
            {seen.map((each) => (
              <UseLine key={`${each.payment.paymentId} ${each.proposal.trackingId}`} {...each} />
            ))}
          </ul>
          <output className="small muted">
            {action.pending && seen.length > perRequest && text('bank.progress', { done, count: seen.length })}
          </output>
        </Form>
      )}
    </Dialog>
  )
}

function UseLine({ payment, proposal }: ChosenUse) {
  const text = useText()
  const against = proposal.reasons.filter((reason) => doubts.has(reason))
  return (
    <li>
      <BankAmount minor={proposal.amountMinor} currency={payment.currency} />
      <span>
        <span className="muted">{text(`bank.does.${doesTo(payment, proposal)}`, { kind: proposal.kind })}</span>{' '}
        <strong>
          <bdi>{proposal.referenceId}</bdi>
        </strong>{' '}
        <bdi>{proposal.name}</bdi>
        {proposal.requestedAmountMinor !== proposal.amountMinor && (
          <span className="muted">
            {' '}
            {text('bank.requested')} <BankAmount minor={proposal.requestedAmountMinor} currency={payment.currency} />
          </span>
        )}
        {against.length > 0 && (
          <span className="UseDialog-doubts">{against.map((reason) => text(`bank.reason.${reason}`)).join('; ')}</span>
        )}
      </span>
    </li>
  )
}
