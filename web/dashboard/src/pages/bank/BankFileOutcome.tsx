import { CircleAlert, CircleCheck } from 'lucide-react'
import type { BankFileResponse } from '../../../../../src/http/dashboard/bank/bank-api'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { useRefusalText } from '../../components/shown-refusals'
import { TransferLink } from '../../components/TransferLink'
import { BankAmount } from './BankAmount'
import { BankStatementFacts } from './BankStatementFacts'
import { certainOf } from './bank-matches'
import { RejectionList } from './RejectionList'

interface BankFileOutcomeProps {
  readonly response: BankFileResponse
  readonly onClose: () => void
}

/** Shows the payments that were carried out, and those that their transfers rejected. The list below has the payments that are still open. */
export function BankFileOutcome({ response, onClose }: BankFileOutcomeProps) {
  const text = useText()
  const { statements, counts, payments, rejections } = response
  const lines = payments.flatMap((payment) =>
    certainOf(payment).flatMap((proposal, index) => {
      const applied = payment.applied[index]
      return applied ? [{ payment, proposal, ...applied }] : []
    }),
  )
  const rejected = lines.filter(({ refusal }) => refusal)
  const done = lines.filter(({ refusal }) => !refusal)
  const open = counts.certain + counts.uncertain + counts.unknown - counts.applied
  return (
    <>
      <p>{text('bank.stillOpen', { count: open })}</p>
      <Outcomes lines={rejected} />
      <RejectionList rejections={rejections} />
      {done.length > 0 && (
        <details className="BankFile-done" open={done.length <= 5}>
          <summary>{text('bank.carriedOut', { count: done.length })}</summary>
          <Outcomes lines={done} />
        </details>
      )}
      {statements.map((statement) => (
        <BankStatementFacts key={statement.importId} statement={statement} />
      ))}
      <div className="row">
        <Button onPress={onClose}>{text('common.close')}</Button>
      </div>
    </>
  )
}

type FilePayment = BankFileResponse['payments'][number]

interface Line {
  readonly payment: FilePayment
  readonly proposal: FilePayment['proposals'][number]
  readonly effect: FilePayment['applied'][number]['effect']
  readonly refusal: FilePayment['applied'][number]['refusal']
}

function Outcomes({ lines }: { readonly lines: readonly Line[] }) {
  const text = useText()
  const refusalText = useRefusalText()
  if (lines.length === 0) return null
  return (
    <ul className="BankFile-outcomes">
      {lines.map(({ payment, proposal, effect, refusal }) => (
        <li key={`${payment.paymentId} ${proposal.trackingId}`} data-refused={refusal !== null || undefined}>
          {refusal ? <CircleAlert className="icon-14" /> : <CircleCheck className="icon-14" />}
          <BankAmount minor={proposal.amountMinor} currency={payment.currency} />
          <span>
            <TransferLink trackingId={proposal.trackingId} referenceId={proposal.referenceId} />{' '}
            <bdi>
              {refusal ? refusalText({ ...refusal, message: refusal.rule }) : effect && text(`fields.effect.${effect}`)}
            </bdi>
          </span>
        </li>
      ))}
    </ul>
  )
}
